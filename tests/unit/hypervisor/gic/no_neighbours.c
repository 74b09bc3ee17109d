/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests whose partition has no VCPU on a shared core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/remote_access.h"

enum access_result remote_access_vcpu(struct vcpu *vcpu, uint32_t number, struct access *access)
{
    (void)vcpu;
    (void)number;
    (void)access;
    fail();
    return ACCESS_REFUSED;
}
