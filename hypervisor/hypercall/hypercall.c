/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/hypercall.h"

#include "entropy/trng.h"
#include "hypercall/channel.h"
#include "hypercall/health.h"
#include "hypercall/manager.h"
#include "hypercall/psci.h"
#include "hypercall/services.h"
#include "hypercall/shared_device.h"
#include "partition/ownership.h"
#include "vcpu/power.h"
#include <arch/hypercalls.h>

#define SMCCC_VERSION_1_1 0x10001

/* Returns true if the function discards branch predictions on the VCPU's core. The exit that leads
 * here has done it already. */
static bool discards_predictions(const struct vcpu *vcpu, uint32_t function)
{
    return (function == CALL_SMCCC_ARCH_WORKAROUND_1 && vcpu->branch_workaround != 0) ||
           (function == CALL_SMCCC_ARCH_WORKAROUND_3 && vcpu->branch_workaround == function);
}

/* Returns CALL_SUCCESS if the caller may call the function, otherwise CALL_NOT_SUPPORTED (DEN0028,
 * SMCCC_ARCH_FEATURES). */
static int64_t query_feature(const struct vcpu *vcpu, uint32_t function)
{
    bool is_supported = function == CALL_SMCCC_VERSION || function == CALL_SMCCC_ARCH_FEATURES ||
                        discards_predictions(vcpu, function) || services_have(vcpu, function) ||
                        channel_has_call(vcpu, function) ||
                        shared_device_has_call(vcpu, function) || health_has_call(vcpu, function);

    return is_supported ? CALL_SUCCESS : CALL_NOT_SUPPORTED;
}

/* Handles a call other than those of PSCI. `registers`: X0 to X3. `pc`: the guest's program
 * counter. Returns X0. */
static int64_t handle_other_call(struct vcpu *vcpu, uint64_t registers[4], uint64_t pc)
{
    switch ((uint32_t)registers[0]) {
    case CALL_SMCCC_VERSION:
        return SMCCC_VERSION_1_1;
    case CALL_SMCCC_ARCH_FEATURES:
        return query_feature(vcpu, (uint32_t)registers[1]);
    case CALL_PV_TIME_FEATURES:
    case CALL_PV_TIME_ST:
    case CALL_HYPERVISOR_TIMES:
    case CALL_HYPERVISOR_UID:
    case CALL_HYPERVISOR_REVISION:
        return services_call(vcpu, registers);
    case CALL_CHANNEL_NOTIFY:
        return channel_notify(vcpu, (uint32_t)registers[1]);
    case CALL_CHANNEL_SET_STATE:
        return channel_set_state(vcpu, (uint32_t)registers[1], (uint32_t)registers[2]);
    case CALL_SHARED_DEVICE_INTERRUPT:
    case CALL_SHARED_DEVICE_ACKNOWLEDGE:
    case CALL_SHARED_DEVICE_CONFIGURE:
    case CALL_SHARED_DEVICE_FAIL:
        return shared_device_call(vcpu, registers);
    case CALL_HEALTH_REPORT:
        return health_report(vcpu, (uint32_t)registers[1], registers[2], pc);
    case CALL_DEVICE_STATE:
        return ownership_state(vcpu, registers);
    case CALL_PARTITION_STATUS:
    case CALL_PARTITION_CREATE:
    case CALL_PARTITION_START:
    case CALL_PARTITION_STOP:
    case CALL_PARTITION_REPLACE:
    case CALL_PARTITION_DESTROY:
    case CALL_PARTITION_IMAGE:
    case CALL_PARTITION_LOG:
    case CALL_DEVICE_GIVE:
    case CALL_PARTITION_CRASH:
        return manager_call(vcpu, registers);
    case CALL_SMCCC_ARCH_WORKAROUND_1:
    case CALL_SMCCC_ARCH_WORKAROUND_3:
        return query_feature(vcpu, (uint32_t)registers[0]);
    default:
        return CALL_NOT_SUPPORTED;
    }
}

/* Returns true if the function is one of DEN0098, which has a part of PSCI's numbers. */
static bool is_trng_call(uint32_t function)
{
    function &= ~CALL_64;
    return function >= CALL_TRNG_VERSION && function <= CALL_TRNG_RND32;
}

void hypercall_handle(struct vcpu *vcpu, struct registers *registers)
{
    uint32_t function = (uint32_t)registers->x[0], target = 0;
    enum psci_action action;

    if ((function & CALL_OWNER_MASK) != CALL_OWNER_PSCI) {
        vcpu->report.exits[EXIT_HYPERCALL]++;
        registers->x[0] = (uint64_t)handle_other_call(vcpu, registers->x, registers->pc);
        return;
    }
    if (is_trng_call(function)) {
        vcpu->report.exits[EXIT_HYPERCALL]++;
        registers->x[0] = (uint64_t)trng_call(&vcpu->generator, registers->x);
        return;
    }
    action = psci_call(vcpu->partition, vcpu->number, registers->x, &target);
    vcpu->report.exits[EXIT_POWER]++;
    power_change(vcpu, action, target);
}
