/* SPDX-License-Identifier: BSD-2-Clause */
#include "call/call.h"

#include "call/function.h"
#include "call/services.h"
#include "channel/calls.h"
#include "manager/calls.h"

/* DEN0028, 7. */
#define SMCCC_VERSION       0x80000000u
#define SMCCC_ARCH_FEATURES 0x80000001u
#define SMCCC_VERSION_1_1   0x10001

static int64_t architecture(const struct vcpu *vcpu, const uint64_t *registers)
{
    uint32_t asked = (uint32_t)registers[1];

    if ((uint32_t)registers[0] == SMCCC_VERSION) {
        return SMCCC_VERSION_1_1;
    }
    if ((uint32_t)registers[0] != SMCCC_ARCH_FEATURES) {
        return CALL_NOT_SUPPORTED;
    }
    return asked == SMCCC_VERSION || asked == SMCCC_ARCH_FEATURES || services_have(vcpu, asked) ||
                   channel_has_call(vcpu, asked)
               ? CALL_SUCCESS
               : CALL_NOT_SUPPORTED;
}

enum psci_action call_handle(const struct vcpu *vcpu, uint64_t registers[4], uint32_t *target)
{
    int64_t result = CALL_NOT_SUPPORTED;

    switch ((uint32_t)registers[0] & CALL_SERVICE_MASK) {
    case CALL_STANDARD_SECURE:
        return psci_call(vcpu->partition, vcpu->number, registers, target);
    case CALL_ARCHITECTURE:
        result = architecture(vcpu, registers);
        break;
    case CALL_STANDARD_HYPERVISOR:
    case CALL_VENDOR_HYPERVISOR:
        result = channel_call(vcpu, registers);
        if (result == CALL_NOT_SUPPORTED) {
            result = services_call(vcpu, registers);
        }
        if (result == CALL_NOT_SUPPORTED) {
            result = manager_call(vcpu, registers);
        }
        break;
    default:
        break;
    }
    registers[0] = (uint64_t)result;
    return PSCI_RETURN;
}
