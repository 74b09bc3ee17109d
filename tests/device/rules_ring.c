/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules on what is in a split ring when the driver publishes it (rules.h). Written from the
 * standard, not from the driver: layouts and flags are this file's own.
 */
#include "rules.h"
#include <stdio.h>
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

#define NEXT     1u
#define WRITE    2u
#define INDIRECT 4u

#define HEADER_BYTES        12u
#define HEADER_BYTES_LEGACY 10u
#define ETHERNET_BYTES      14u
#define RECEIVE_QUEUE       0u

void (*rules_on_publish)(unsigned queue, uint16_t head);
void (*rules_on_wish)(unsigned queue);

/* A chain as the device would gather it. */
struct chain {
    unsigned count;
    unsigned writable;
    uint64_t bytes;
    uint64_t first_bytes;
    uint8_t start[HEADER_BYTES]; /* as far as readable */
};

static bool agreed(uint64_t feature)
{
    return (rules.accepted & feature) != 0;
}

static uint32_t header_bytes(void)
{
    return agreed(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF) ? HEADER_BYTES : HEADER_BYTES_LEGACY;
}

void rules_queue_enabled(struct rules_queue *queue)
{
    queue->enabled_once = true;
    queue->published = 0;
    queue->used = 0;
    memset(queue->with_device, 0, sizeof(queue->with_device));
}

static void add_buffer(struct chain *chain, const struct descriptor *buffer)
{
    const struct station *station = rules.station;
    uint64_t from = virtio_platform_dma_address(station->buffer_memory);
    uint64_t to =
        virtio_platform_dma_address(station->packet_memory) + (uint64_t)STATION_PACKETS * 2048u;

    rules_check(RULE_CHAIN_BYTES, buffer->bytes != 0);
    rules_check(RULE_BUFFER_OURS, buffer->address >= from && buffer->address + buffer->bytes <= to);
    rules_check(RULE_CHAIN_ORDER, (buffer->flags & WRITE) != 0 || chain->writable == 0);
    if ((buffer->flags & WRITE) == 0 && chain->bytes < HEADER_BYTES) {
        size_t left = HEADER_BYTES - (size_t)chain->bytes;

        memcpy(chain->start + chain->bytes, qtest_memory(buffer->address, buffer->bytes),
               left < buffer->bytes ? left : buffer->bytes);
    }
    chain->first_bytes = chain->count == 0 ? buffer->bytes : chain->first_bytes;
    chain->writable += (buffer->flags & WRITE) != 0;
    chain->bytes += buffer->bytes;
    chain->count++;
}

static void walk_table(const struct rules_queue *queue, struct chain *chain,
                       const struct descriptor *whole)
{
    uint32_t entries = whole->bytes / sizeof(struct descriptor);
    const struct descriptor *table = qtest_memory(whole->address, whole->bytes);
    uint32_t at = 0;

    rules_check(RULE_INDIRECT_AGREED, agreed(VIRTIO_F_INDIRECT_DESC));
    rules_check(RULE_INDIRECT_PLAIN, (whole->flags & (NEXT | WRITE)) == 0);
    rules_check(RULE_CHAIN_BYTES, entries != 0 && whole->bytes % sizeof(struct descriptor) == 0);
    for (;;) {
        rules_check(RULE_CHAIN_BOUNDED, at < entries && chain->count < queue->size);
        rules_check(RULE_INDIRECT_PLAIN, (table[at].flags & INDIRECT) == 0);
        add_buffer(chain, &table[at]);
        if ((table[at].flags & NEXT) == 0) {
            return;
        }
        at = table[at].next;
    }
}

/* Follows a chain; its descriptors are the device's from now on. */
static void walk(struct rules_queue *queue, uint16_t head, struct chain *chain)
{
    const struct descriptor *descriptors =
        qtest_memory(queue->descriptors, queue->size * sizeof(struct descriptor));
    uint32_t at = head;

    *chain = (struct chain){0};
    for (;;) {
        rules_check(RULE_CHAIN_BOUNDED, at < queue->size && chain->count < queue->size);
        rules_check(RULE_HEAD_FREE, !queue->with_device[at]);
        queue->with_device[at] = true;
        if ((descriptors[at].flags & INDIRECT) != 0) {
            walk_table(queue, chain, &descriptors[at]);
        } else {
            add_buffer(chain, &descriptors[at]);
        }
        queue->next[at] = (descriptors[at].flags & NEXT) != 0 ? descriptors[at].next : UINT16_MAX;
        if (queue->next[at] == UINT16_MAX) {
            break;
        }
        at = queue->next[at];
    }
    rules_check(RULE_CHAIN_BYTES, chain->bytes <= UINT32_MAX);
}

static void check_receive(const struct chain *chain)
{
    rules_check(RULE_RECEIVE_WRITABLE, chain->writable == chain->count);
    rules_check(RULE_RECEIVE_ROOM, chain->bytes >= (agreed(VIRTIO_NET_F_MRG_RXBUF)
                                                        ? header_bytes()
                                                        : header_bytes() + ETHERNET_BYTES + 1500));
}

static void check_transmit(const struct chain *chain)
{
    uint8_t gso = chain->start[1];
    uint32_t mtu = rules.station->setting->mtu != 0 ? rules.station->setting->mtu : 1500;

    rules_check(RULE_RECEIVE_WRITABLE, chain->writable == 0);
    if (header_bytes() == HEADER_BYTES) {
        rules_check(RULE_HEADER_BUFFERS, chain->start[10] == 0 && chain->start[11] == 0);
    }
    rules_check(RULE_HEADER_FLAGS,
                chain->start[0] == 0 || (agreed(VIRTIO_NET_F_CSUM) && chain->start[0] == 1));
    rules_check(RULE_HEADER_GSO, gso == 0 || (gso == 1 && agreed(VIRTIO_NET_F_HOST_TSO4)) ||
                                     (gso == 4 && agreed(VIRTIO_NET_F_HOST_TSO6)));
    if (gso == 0) {
        rules_check(RULE_FRAME_MTU, chain->bytes <= header_bytes() + ETHERNET_BYTES + mtu);
    }
}

static void check_chain(struct rules_queue *queue, uint16_t head)
{
    struct chain chain;

    walk(queue, head, &chain);
    if (!agreed(VIRTIO_F_VERSION_1) && !agreed(VIRTIO_F_ANY_LAYOUT)) {
        rules_check(RULE_HEADER_ALONE, chain.first_bytes == header_bytes());
    }
    if (queue == &rules.queue[RECEIVE_QUEUE]) {
        check_receive(&chain);
    } else {
        check_transmit(&chain);
    }
}

/* What the device has returned is the driver's again. */
static void take_back(struct rules_queue *queue)
{
    const uint8_t *used = qtest_memory(queue->device_area, 6 + 8 * (size_t)queue->size);
    uint16_t index;

    memcpy(&index, used + 2, sizeof(index));
    while (queue->used != index) {
        uint32_t id;

        memcpy(&id, used + 4 + 8 * (size_t)(queue->used % queue->size), sizeof(id));
        for (uint32_t at = id; at < queue->size && queue->with_device[at]; at = queue->next[at]) {
            queue->with_device[at] = false;
        }
        queue->used++;
    }
}

static void published(struct rules_queue *queue, uint16_t index)
{
    /* flags, index, ring */
    const uint16_t *available = qtest_memory(queue->driver_area, 4 + 2 * (size_t)queue->size);
    const uint16_t *ring = available + 2;

    take_back(queue);
    rules_check(agreed(VIRTIO_F_EVENT_IDX) ? RULE_FLAGS_ZERO : RULE_FLAGS_VALID,
                available[0] <= !agreed(VIRTIO_F_EVENT_IDX));
    rules_check(RULE_INDEX_FORWARD, (uint16_t)(index - queue->published) <= queue->size);
    for (; queue->published != index; queue->published++) {
        uint16_t head = ring[queue->published % queue->size];

        check_chain(queue, head);
        if (rules_on_publish != NULL) {
            rules_on_publish((unsigned)(queue - rules.queue), head);
        }
    }
}

void rules_describe(void)
{
    for (unsigned i = 0; i < RULES_QUEUES; i++) {
        const struct rules_queue *queue = &rules.queue[i];
        const uint16_t *available;
        const uint16_t *used;

        if (queue->enabled_once) {
            available = qtest_memory(queue->driver_area, 6 + 2 * (size_t)queue->size);
            used = qtest_memory(queue->device_area, 6 + 8 * (size_t)queue->size);
            printf("queue %u of %u: available %#x %u used_event %u; used %#x %u avail_event %u\n",
                   i, queue->size, available[0], available[1], available[2 + queue->size], used[0],
                   used[1], used[2 + 4 * (size_t)queue->size]);
        }
    }
}

/* Whether the store asks for an interrupt with the next chain: by event, or by flag. */
static bool wants_next(const struct rules_queue *queue, const uint16_t *shared, uint16_t value)
{
    const uint16_t *available = qtest_memory(queue->driver_area, 6 + 2 * (size_t)queue->size);
    const uint16_t *used = qtest_memory(queue->device_area, 4);

    return agreed(VIRTIO_F_EVENT_IDX) ? shared == available + 2 + queue->size && value == used[1]
                                      : shared == available && value == 0;
}

void rules_store16(const uint16_t *shared, uint16_t value)
{
    if (rules.station == NULL) {
        return;
    }
    for (unsigned i = 0; i < RULES_QUEUES; i++) {
        struct rules_queue *queue = &rules.queue[i];
        const uint16_t *available;

        if (!queue->enabled_once) {
            continue;
        }
        available = qtest_memory(queue->driver_area, 4);
        if (shared == available + 1) {
            published(queue, value);
        } else if (rules_on_wish != NULL && wants_next(queue, shared, value)) {
            rules_on_wish(i);
        }
    }
}
