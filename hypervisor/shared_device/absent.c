/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces access.c, lives.c and hypercall/shared_device.c in images without channels. No function
 * has an effect. */
#include "hypercall/shared_device.h"
#include "shared_device/shared_device.h"
#include <arch/hypercalls.h>

bool shared_device_has_call(const struct vcpu *vcpu, uint32_t function)
{
    (void)vcpu;
    (void)function;
    return false;
}

int64_t shared_device_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    (void)vcpu;
    (void)registers;
    return CALL_NOT_SUPPORTED;
}

/* NOLINTBEGIN(readability-non-const-parameter): access.c and lives.c write to them */
bool shared_device_trap(const struct partition *partition, uint64_t address, struct access *access,
                        enum access_result *result)
{
    (void)partition;
    (void)address;
    (void)access;
    (void)result;
    return false;
}

enum step_outcome shared_device_end(const struct partition *partition, bool is_isolated,
                                    uint32_t *index)
{
    (void)partition;
    (void)is_isolated;
    (void)index;
    return STEP_DONE;
}

enum step_outcome shared_device_end_link(const struct partition *partition, uint32_t *index)
{
    (void)partition;
    (void)index;
    return STEP_DONE;
}
/* NOLINTEND(readability-non-const-parameter) */
