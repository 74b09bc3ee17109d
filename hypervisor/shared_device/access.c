/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_device/locked.h"
#include "shared_device/shared_device.h"
#include <devices/virtio_mmio_registers.h>

/* Returns true if the access has to wait until the back-end has stopped. */
static bool has_to_wait(const struct locked_device *locked, enum shared_device_effect effect)
{
    return (effect == SHARED_DEVICE_STOP || effect == SHARED_DEVICE_WAIT) &&
           !locked_device_has_stopped(locked);
}

static enum access_result access_device(const struct description *system, uint32_t index,
                                        struct access *access)
{
    struct locked_device locked;
    enum shared_device_effect effect;
    enum access_result result;

    locked_device_take(&locked, system, index);
    result = shared_device_access(&locked.device, access, &effect);
    if (access->write && access->offset == VIRTIO_MMIO_INTERRUPT_ACK) {
        locked_device_tell_driver(&locked, 0); /* of the causes that it has not acknowledged */
    }
    if (has_to_wait(&locked, effect)) {
        result = ACCESS_AGAIN;
    }
    locked_device_give(&locked);
    if (effect == SHARED_DEVICE_RING || effect == SHARED_DEVICE_STOP) {
        locked_device_ring(&locked);
    }
    return result;
}

bool shared_device_trap(const struct partition *partition, uint64_t address, struct access *access,
                        enum access_result *result)
{
    const struct description *system = partition->constant.system;

    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        const struct description_shared_device *described = &system->shared_devices[i];

        if (described->client == partition->constant.index &&
            address - described->registers < DESCRIPTION_PAGE_BYTES) {
            access->offset = address - described->registers;
            *result = access_device(system, i, access);
            return true;
        }
    }
    return false;
}
