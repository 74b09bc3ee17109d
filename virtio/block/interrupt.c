/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts of a block device, and its failures. */
#include "block_private.h"

/* The largest number of interrupts between two calls of virtio_block_rearm(): the queue and a
 * change of the configuration cause one each after they were suppressed, and a device that reads
 * the flag late a few more. */
#define INTERRUPTS_MAX 16u

void block_stop_broken(struct virtio_block *block, const char *reason)
{
    if (block->state != BLOCK_RUNNING) {
        return;
    }
    block->state = BLOCK_BROKEN;
    block->broken = reason;
    block->is_news = true;
    virtio_platform_log("virtio-block: device stopped: %s", reason);
}

/* Returns the cause of the interrupt, and acknowledges it. A message has no cause to read. */
static uint32_t cause_of(struct virtio_block *block)
{
    struct virtio_transport *transport = block->transport;

    if (transport->vectors != 0) {
        return VIRTIO_CAUSE_QUEUE | VIRTIO_CAUSE_CONFIG;
    }
    /* Also when the driver is stopped, because the device then lowers its line (4.1.5.3). */
    return transport->operations->interrupt_cause(transport);
}

bool virtio_block_interrupt(struct virtio_block *block)
{
    virtio_lock_state state = virtio_platform_lock();
    uint32_t cause = cause_of(block);
    bool is_ours = cause != 0 || !block->transport->line_shared;
    bool is_masked;

    if (is_ours) {
        block->statistics.interrupts++;
        block->interrupts++;
        block->is_status_wanted = block->is_status_wanted || (cause & VIRTIO_CAUSE_CONFIG) != 0;
        if (block->state == BLOCK_RUNNING) {
            virtqueue_suppress(&block->queue);
        }
    }
    is_masked = block->interrupts >= INTERRUPTS_MAX;
    virtio_platform_unlock(state);
    if (is_ours) {
        block->operations->signal(block->context);
    }
    return is_masked;
}

bool virtio_block_rearm(struct virtio_block *block)
{
    bool is_idle = true;
    virtio_lock_state state;

    if (block->is_status_wanted) {
        block->is_status_wanted = false;
        virtio_block_watch(block);
    }
    state = virtio_platform_lock();
    block->interrupts = 0;
    if (block->state == BLOCK_RUNNING && virtqueue_in_flight(&block->queue) != 0) {
        is_idle = virtqueue_enable(&block->queue, 0);
    }
    if (block->is_news) {
        block->is_news = false;
        is_idle = false;
    }
    virtio_platform_unlock(state);
    return is_idle;
}

/* Returns why the device can't go on, or NULL. */
static const char *status_failure(const struct virtio_block *block)
{
    uint8_t status = block->transport->operations->status(block->transport);

    if (status == UINT8_MAX) { /* a bus without the device; no device sets the two reserved bits */
        return "the device is gone";
    }
    if ((status & VIRTIO_STATUS_NEEDS_RESET) != 0) {
        return "the device asks for a reset";
    }
    return (status & VIRTIO_STATUS_DRIVER_OK) == 0 ? "the device was reset" : NULL;
}

void virtio_block_watch(struct virtio_block *block)
{
    const char *reason;
    virtio_lock_state state;

    if (block->state != BLOCK_RUNNING) {
        return;
    }
    reason = status_failure(block);
    if (reason != NULL) {
        state = virtio_platform_lock();
        block_stop_broken(block, reason);
        virtio_platform_unlock(state);
    }
}

const char *virtio_block_broken(const struct virtio_block *block)
{
    return block->broken;
}

const struct virtio_block_geometry *virtio_block_geometry(const struct virtio_block *block)
{
    return &block->geometry;
}

uint64_t virtio_block_features(const struct virtio_block *block)
{
    return block->features;
}

const struct virtio_block_statistics *virtio_block_statistics(const struct virtio_block *block)
{
    return &block->statistics;
}
