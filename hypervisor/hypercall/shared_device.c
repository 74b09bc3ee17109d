/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/shared_device.h"

#include "shared_device/backend_call.h"
#include <arch/hypercalls.h>

static bool is_backend(const struct vcpu *vcpu, uint64_t index)
{
    const struct partition *partition = vcpu->partition;
    const struct description *system = partition->constant.system;

    return index < system->shared_device_count &&
           system->shared_devices[index].backend == partition->constant.index;
}

bool shared_device_has_call(const struct vcpu *vcpu, uint32_t function)
{
    bool is_known = function == CALL_SHARED_DEVICE_INTERRUPT ||
                    function == CALL_SHARED_DEVICE_ACKNOWLEDGE ||
                    function == CALL_SHARED_DEVICE_CONFIGURE || function == CALL_SHARED_DEVICE_FAIL;
    bool serves = false;

    for (uint32_t i = 0; i < vcpu->partition->constant.system->shared_device_count; i++) {
        serves = serves || is_backend(vcpu, i);
    }
    return is_known && serves;
}

int64_t shared_device_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    uint32_t index = (uint32_t)registers[1];

    return is_backend(vcpu, index)
               ? backend_call(vcpu->partition->constant.system, index, (uint32_t)registers[0],
                              (uint32_t)registers[2], registers[3])
               : CALL_NOT_SUPPORTED;
}
