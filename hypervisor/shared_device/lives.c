/* SPDX-License-Identifier: BSD-2-Clause */
#include "emulated_function/config.h"
#include "shared_device/locked.h"
#include "shared_device/shared_device.h"

/* VIRTIO 1.3, 5.1.4: the configuration of a network device. */
#define DEVICE_NET         1u
#define NET_STATUS         6u    /* offset of `status` */
#define NET_STATUS_LINK_UP 0x01u /* VIRTIO_NET_S_LINK_UP */

/* The client's driver executes no more. */
static void end_client(struct locked_device *locked)
{
    bool has_changed = shared_device_reset(&locked->device);

    locked_device_give(locked);
    if (has_changed) {
        locked_device_ring(locked);
    }
}

/* The back-end executes no more, and its devices access no memory. */
static void end_backend(const struct locked_device *locked)
{
    locked->state->serves = 0;
    function_config_reset(&locked->state->function);
    locked_device_give(locked);
}

/* Ends the use of one device. */
static void end_device(const struct partition *partition, bool is_isolated, uint32_t device)
{
    const struct description *system = partition->constant.system;
    const struct description_shared_device *described = &system->shared_devices[device];
    struct locked_device locked;

    if (described->client == partition->constant.index) {
        locked_device_take(&locked, system, device);
        end_client(&locked);
    } else if (described->backend == partition->constant.index && is_isolated) {
        locked_device_take(&locked, system, device);
        end_backend(&locked);
    }
}

/* Returns STEP_PENDING if the partition is the client of the device, and its back-end has not
 * stopped. */
static enum step_outcome look_at_client(const struct partition *partition, uint32_t device)
{
    const struct description *system = partition->constant.system;
    struct locked_device locked;
    bool has_stopped = true;

    if (system->shared_devices[device].client == partition->constant.index) {
        locked_device_take(&locked, system, device);
        has_stopped = locked_device_has_stopped(&locked);
        locked_device_give(&locked);
    }
    return has_stopped ? STEP_DONE : STEP_PENDING;
}

enum step_outcome shared_device_end(const struct partition *partition, bool is_isolated,
                                    uint32_t *index)
{
    uint32_t count = partition->constant.system->shared_device_count;

    if (*index >= 2 * count) {
        return STEP_DONE;
    }
    if (*index < count) { /* all are ended before one is waited for: they may be each other's */
        end_device(partition, is_isolated, (*index)++);
    } else if (look_at_client(partition, *index - count) == STEP_DONE) {
        (*index)++;
    }
    return STEP_PENDING;
}

/* Clears the bit in the configuration space of a network device that says that the link is up. */
static void end_link(const struct locked_device *locked)
{
    uint32_t before = locked->state->registers.interrupt_status;
    uint8_t status = locked->state->registers.config[NET_STATUS] & (uint8_t)~NET_STATUS_LINK_UP;

    if (shared_device_configure(&locked->device, NET_STATUS, &status, sizeof(status))) {
        locked_device_tell_driver(locked, before);
    }
}

enum step_outcome shared_device_end_link(const struct partition *partition, uint32_t *index)
{
    const struct description *system = partition->constant.system;
    const struct description_shared_device *described = &system->shared_devices[*index];
    struct locked_device locked;

    if (*index >= system->shared_device_count) {
        return STEP_DONE;
    }
    if (described->backend == partition->constant.index && described->device_id == DEVICE_NET) {
        locked_device_take(&locked, system, *index);
        end_link(&locked);
        locked_device_give(&locked);
    }
    (*index)++;
    return STEP_PENDING;
}
