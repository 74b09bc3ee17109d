/* SPDX-License-Identifier: BSD-2-Clause */
/* Split virtqueues (VIRTIO 1.3, 2.7): bursts of chains of one descriptor each. */
#include "split_layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue_burst.h"

void virtqueue_burst_prepare(struct virtqueue *queue, bool writable)
{
    for (uint16_t i = 0; i < queue->size; i++) {
        queue->descriptors[i].flags = virtio_le16(writable ? DESCRIPTOR_WRITE : 0);
        virtio_shared_store16(&queue->available->ring[i], i);
    }
    queue->burst_writable = writable;
}

unsigned virtqueue_burst_add(struct virtqueue *queue, void *const *tokens,
                             const struct virtqueue_segment *segments, unsigned count)
{
    struct virtqueue_descriptor *descriptors = queue->descriptors;
    uint16_t added = queue->added;
    unsigned i;

    for (i = 0; i < count && queue->broken == NULL; i++, added++) {
        struct virtqueue_slot *slot = &queue->slots[added & queue->mask];
        struct virtqueue_descriptor *descriptor = &descriptors[added & queue->mask];
        uint64_t address = virtio_le64(segments[i].address);
        uint32_t bytes = virtio_le32(segments[i].bytes);

        if (slot->token != NULL) {
            break;
        }
        /* Read back only to leave alone what is right: who spoils it spoils it for himself. */
        if (descriptor->address != address) {
            descriptor->address = address;
        }
        if (descriptor->bytes != bytes) {
            descriptor->bytes = bytes;
        }
        slot->token = tokens[i];
        slot->writable_bytes = queue->burst_writable ? segments[i].bytes : 0;
    }
    queue->added = added;
    return i;
}

/* How many chains the device has finished, at most `count`. */
static unsigned finished(struct virtqueue *queue, unsigned count)
{
    uint16_t index = virtio_shared_load16(&queue->used->index);
    uint16_t news = (uint16_t)(index - queue->taken);

    if (news > (uint16_t)(queue->published - queue->taken)) {
        queue->broken = "used index ahead of what was made available";
        return 0;
    }
    /* 2.7.14: the elements after the index that announces them. */
    virtio_barrier_observe();
    return news < count ? news : count;
}

/* With IN_ORDER and nothing to know but that they are finished, the index says it all; it need not
 * even have written the elements (2.7.9). */
static void take_in_order(struct virtqueue *queue, void **tokens, unsigned count)
{
    for (unsigned i = 0; i < count; i++, queue->taken++) {
        struct virtqueue_slot *slot = &queue->slots[queue->taken & queue->mask];

        tokens[i] = slot->token;
        slot->token = NULL;
    }
}

/* The id the device names in the element, if it can be believed; else the queue's size. */
static uint32_t checked_id(struct virtqueue *queue, const struct virtqueue_used_element *element,
                           uint32_t written)
{
    uint32_t id = virtio_shared_load32(&element->id);

    if (id >= queue->size) {
        queue->broken = "used id beyond the queue's size";
    } else if (queue->slots[id].token == NULL) {
        queue->broken = "used id is no chain the device has";
    } else if (queue->in_order && id != (queue->taken & queue->mask)) {
        queue->broken = "used id out of order";
    } else if (written > queue->slots[id].writable_bytes) {
        queue->broken = "used length beyond the chain's writable bytes";
    } else {
        return id;
    }
    return queue->size;
}

static unsigned take_named(struct virtqueue *queue, void **tokens, uint32_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++, queue->taken++) {
        const struct virtqueue_used_element *element =
            &queue->used->ring[queue->taken & queue->mask];
        uint32_t written = virtio_shared_load32(&element->bytes);
        uint32_t id = checked_id(queue, element, written);

        if (id == queue->size) {
            return i;
        }
        tokens[i] = queue->slots[id].token;
        queue->slots[id].token = NULL;
        if (bytes != NULL) {
            bytes[i] = written;
        }
    }
    return count;
}

unsigned virtqueue_burst_take(struct virtqueue *queue, void **tokens, uint32_t *bytes,
                              unsigned count)
{
    unsigned taken = queue->broken == NULL ? finished(queue, count) : 0;

    if (queue->in_order && bytes == NULL) {
        take_in_order(queue, tokens, taken);
        return taken;
    }
    return take_named(queue, tokens, bytes, taken);
}
