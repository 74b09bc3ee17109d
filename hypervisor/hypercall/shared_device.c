/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/shared_device.h"

#include "shared_device/locked.h"
#include <arch/hypercalls.h>

#define CONFIGURE_BYTES_MAX 8u

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

/* An acknowledgement of an earlier generation says nothing about the queues that stopped since. */
static void acknowledge(const struct locked_device *locked, uint32_t generation)
{
    locked->state->serves = 1;
    if (generation == locked->device.page->generation) {
        locked->state->acknowledged = generation;
    }
}

/* Changes a part of the configuration space. Returns false if it has no such part. `part`: W2 of
 * the call. `value`: X3. */
static bool configure(const struct locked_device *locked, uint32_t part, uint64_t value)
{
    uint32_t offset = part & 0xffff, count = part >> 16;
    uint8_t bytes[CONFIGURE_BYTES_MAX];

    if (count > CONFIGURE_BYTES_MAX || offset + count > locked->kind.config_bytes) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
    (void)shared_device_configure(&locked->device, offset, bytes, count);
    return true;
}

static int64_t call_device(const struct locked_device *locked, const uint64_t registers[4])
{
    uint32_t argument = (uint32_t)registers[2];

    switch ((uint32_t)registers[0]) {
    case CALL_SHARED_DEVICE_INTERRUPT:
        (void)shared_device_interrupt(&locked->device, argument);
        return CALL_SUCCESS;
    case CALL_SHARED_DEVICE_ACKNOWLEDGE:
        acknowledge(locked, argument);
        return CALL_SUCCESS;
    case CALL_SHARED_DEVICE_CONFIGURE:
        return configure(locked, argument, registers[3]) ? CALL_SUCCESS : CALL_NOT_SUPPORTED;
    case CALL_SHARED_DEVICE_FAIL:
        (void)shared_device_fail(&locked->device);
        return CALL_SUCCESS;
    default:
        return CALL_NOT_SUPPORTED;
    }
}

int64_t shared_device_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    uint32_t index = (uint32_t)registers[1], before;
    struct locked_device locked;
    int64_t result;

    if (!is_backend(vcpu, index)) {
        return CALL_NOT_SUPPORTED;
    }
    locked_device_take(&locked, vcpu->partition->constant.system, index);
    before = locked.state->registers.interrupt_status;
    result = call_device(&locked, registers);
    locked_device_tell_driver(&locked, before);
    locked_device_give(&locked);
    return result;
}
