/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces remote_access.c in images in which each VCPU has a core of its own. */
#include "gic/remote_access.h"

enum access_result remote_access_vcpu(struct vcpu *vcpu, uint32_t number, struct access *access)
{
    (void)vcpu;
    (void)number;
    access->value = 0;
    return ACCESS_REFUSED;
}
