/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_device/backend_call.h"

#include "shared_device/locked.h"
#include <arch/hypercalls.h>

#define CONFIGURE_BYTES_MAX 8u

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

static int64_t call_device(const struct locked_device *locked, uint32_t function, uint32_t argument,
                           uint64_t value)
{
    switch (function) {
    case CALL_SHARED_DEVICE_INTERRUPT:
        (void)shared_device_interrupt(&locked->device, argument);
        return CALL_SUCCESS;
    case CALL_SHARED_DEVICE_ACKNOWLEDGE:
        acknowledge(locked, argument);
        return CALL_SUCCESS;
    case CALL_SHARED_DEVICE_CONFIGURE:
        return configure(locked, argument, value) ? CALL_SUCCESS : CALL_NOT_SUPPORTED;
    case CALL_SHARED_DEVICE_FAIL:
        (void)shared_device_fail(&locked->device);
        return CALL_SUCCESS;
    default:
        return CALL_NOT_SUPPORTED;
    }
}

int64_t backend_call(const struct description *system, uint32_t index, uint32_t function,
                     uint32_t argument, uint64_t value)
{
    struct locked_device locked;
    uint32_t before;
    int64_t result;

    locked_device_take(&locked, system, index);
    before = locked.state->registers.interrupt_status;
    result = call_device(&locked, function, argument, value);
    locked_device_tell_driver(&locked, before);
    locked_device_give(&locked);
    return result;
}

void backend_release(const struct description *system, uint32_t index)
{
    struct locked_device locked;

    locked_device_take(&locked, system, index);
    locked.state->serves = 0;
    locked_device_give(&locked);
}
