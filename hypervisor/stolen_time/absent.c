/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces calls.c in images in which each VCPU has a core of its own. No call is supported. */
#include "hypercall/services.h"

#include <arch/hypercalls.h>

bool services_have(const struct vcpu *vcpu, uint32_t function)
{
    (void)vcpu;
    (void)function;
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): calls.c writes results to `registers` */
int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    (void)vcpu;
    (void)registers;
    return CALL_NOT_SUPPORTED;
}
