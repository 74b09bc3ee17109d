/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that tell a guest the addresses of its VCPUs' times, and the identity of the hypervisor. */
#include "hypercall/services.h"

#include <arch/hypercalls.h>
#include <arch/vcpu_times.h>
#include <stddef.h>

#define REVISION_MAJOR 1
#define REVISION_MINOR 0

/* Returns the guest address of the VCPU's times, or 0 if its partition has none. */
static uint64_t times_of(const struct vcpu *vcpu)
{
    uint64_t page = vcpu->partition->constant.described->times;

    return page != 0 ? page + vcpu->number * sizeof(struct vcpu_times) : 0;
}

static int64_t field_address(uint64_t times, size_t offset)
{
    return times != 0 ? (int64_t)(times + offset) : CALL_NOT_SUPPORTED;
}

static bool has_time_function(const struct vcpu *vcpu, uint32_t function)
{
    return times_of(vcpu) != 0 &&
           (function == CALL_PV_TIME_FEATURES || function == CALL_PV_TIME_ST);
}

bool services_have(const struct vcpu *vcpu, uint32_t function)
{
    return function == CALL_PV_TIME_FEATURES && times_of(vcpu) != 0;
}

/* Returns the hypervisor's UUID, 951acda9-2c9c-432a-a2f6-acddceb95c85, in W0 to W3. The first byte
 * is the lowest byte of W0 (DEN0028, "General service queries"). */
static int64_t hypervisor_uid(uint64_t registers[4])
{
    registers[1] = 0x2a439c2c;
    registers[2] = 0xddacf6a2;
    registers[3] = 0x855cb9ce;
    return 0xa9cd1a95;
}

static int64_t hypervisor_revision(uint64_t registers[4])
{
    registers[1] = REVISION_MINOR;
    return REVISION_MAJOR;
}

int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    switch ((uint32_t)registers[0]) {
    case CALL_PV_TIME_FEATURES:
        return has_time_function(vcpu, (uint32_t)registers[1]) ? CALL_SUCCESS : CALL_NOT_SUPPORTED;
    case CALL_PV_TIME_ST:
        return field_address(times_of(vcpu), offsetof(struct vcpu_times, stolen_time));
    case CALL_HYPERVISOR_TIMES:
        return field_address(times_of(vcpu), offsetof(struct vcpu_times, absence));
    case CALL_HYPERVISOR_UID:
        return hypervisor_uid(registers);
    case CALL_HYPERVISOR_REVISION:
        return hypervisor_revision(registers);
    default:
        return CALL_NOT_SUPPORTED;
    }
}
