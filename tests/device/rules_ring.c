/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules on what is in a ring when the driver publishes it (rules.h), for both formats. */
#include "rules_ring.h"
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES        12u
#define HEADER_BYTES_LEGACY 10u
#define ETHERNET_BYTES      14u

void (*rules_on_publish)(const struct rules_publication *publication);
void (*rules_on_wish)(unsigned queue);

static uint32_t header_bytes(void)
{
    return rules_agreed(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF) ? HEADER_BYTES
                                                                     : HEADER_BYTES_LEGACY;
}

void rules_queue_enabled(struct rules_queue *queue)
{
    queue->enabled_once = true;
    queue->published = queue->used = 0;
    queue->chains_given = queue->chains_returned = 0;
    queue->next_in_order = 0;
    memset(queue->with_device, 0, sizeof(queue->with_device));
    memset(queue->descriptors_of, 0, sizeof(queue->descriptors_of));
}

static size_t device_pairs(void)
{
    return rules_agreed(VIRTIO_NET_F_MQ) ? rules.station->setting->device_pairs : 1;
}

/* 5.1.2: behind all pairs that the device has with MQ, or behind the only one. */
static bool is_control(const struct rules_queue *queue)
{
    return queue == &rules.queue[2 * device_pairs()];
}

struct chain chain_begin(const struct rules_queue *queue)
{
    return (struct chain){.control = is_control(queue)};
}

void chain_add(struct chain *chain, uint64_t address, uint32_t bytes, bool writable)
{
    const struct station *last = &rules.station[station_pairs(rules.station) - 1];
    uint64_t from = virtio_platform_dma_address(rules.station->buffer_memory);
    uint64_t to = virtio_platform_dma_address(last->packet_memory) + STATION_PACKET_MEMORY;

    rules_check(RULE_CHAIN_BYTES, bytes != 0);
    rules_check(RULE_BUFFER_OURS, chain->control || (address >= from && address + bytes <= to));
    rules_check(RULE_CHAIN_ORDER, writable || chain->writable == 0);
    if (!writable && chain->bytes < sizeof(chain->start)) {
        size_t left = sizeof(chain->start) - (size_t)chain->bytes;

        memcpy(chain->start + chain->bytes, qtest_memory(address, bytes),
               left < bytes ? left : bytes);
    }
    chain->first_bytes = chain->count == 0 ? bytes : chain->first_bytes;
    chain->writable += writable;
    chain->bytes += bytes;
    chain->count++;
}

static void check_receive(const struct chain *chain)
{
    rules_check(RULE_RECEIVE_WRITABLE, chain->writable == chain->count);
    rules_check(RULE_RECEIVE_ROOM, chain->bytes >= (rules_agreed(VIRTIO_NET_F_MRG_RXBUF)
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
                chain->start[0] == 0 || (rules_agreed(VIRTIO_NET_F_CSUM) && chain->start[0] == 1));
    rules_check(RULE_HEADER_GSO, gso == 0 || (gso == 1 && rules_agreed(VIRTIO_NET_F_HOST_TSO4)) ||
                                     (gso == 4 && rules_agreed(VIRTIO_NET_F_HOST_TSO6)));
    if (gso != 0) {
        uint32_t headers = chain->start[2] | (uint32_t)chain->start[3] << 8;
        uint32_t data = chain->start[4] | (uint32_t)chain->start[5] << 8;

        rules_check(RULE_HEADER_CUT, chain->start[0] == 1 && headers != 0 && data != 0);
        rules_check(RULE_FRAME_MTU, headers + data <= ETHERNET_BYTES + mtu);
    } else {
        rules_check(RULE_FRAME_MTU, chain->bytes <= header_bytes() + ETHERNET_BYTES + mtu);
    }
}

/* 5.1.6.5: class and command, what belongs to it, and one byte for the answer. */
static void check_command(const struct chain *chain)
{
    static const struct {
        uint8_t class;
        uint8_t first; /* commands */
        uint8_t last;
        uint64_t feature;
    } known[] = {
        {0, 0, 1, VIRTIO_NET_F_CTRL_RX},   {0, 2, 5, VIRTIO_NET_F_CTRL_RX_EXTRA},
        {1, 0, 0, VIRTIO_NET_F_CTRL_RX},   {1, 1, 1, VIRTIO_NET_F_CTRL_MAC_ADDR},
        {2, 0, 1, VIRTIO_NET_F_CTRL_VLAN}, {3, 0, 0, VIRTIO_NET_F_GUEST_ANNOUNCE},
        {4, 0, 0, VIRTIO_NET_F_MQ},
    };
    uint64_t feature = 0;

    rules_check(RULE_COMMAND_SHAPE, chain->writable == 1 && chain->count >= 2 && chain->bytes >= 3);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].class == chain->start[0] && chain->start[1] >= known[i].first &&
            chain->start[1] <= known[i].last) {
            feature = known[i].feature;
        }
    }
    rules_check(RULE_COMMAND_AGREED, rules_agreed(feature));
    if (feature == VIRTIO_NET_F_MQ) {
        rules.pairs_told = chain->start[2] | (uint32_t)chain->start[3] << 8;
        rules_check(RULE_PAIRS_OFFERED,
                    rules.pairs_told != 0 && rules.pairs_told <= device_pairs());
        for (uint32_t i = 0; i < 2 * rules.pairs_told; i++) {
            rules_check(RULE_PAIRS_READY, rules.queue[i].enabled);
        }
    }
}

void chain_check(const struct rules_queue *queue, const struct chain *chain)
{
    rules_check(RULE_CHAIN_BYTES, chain->bytes <= UINT32_MAX);
    if (chain->control) {
        check_command(chain);
        return;
    }
    if (!rules_agreed(VIRTIO_F_VERSION_1) && !rules_agreed(VIRTIO_F_ANY_LAYOUT)) {
        rules_check(RULE_HEADER_ALONE, chain->first_bytes == header_bytes());
    }
    if ((queue - rules.queue) % 2 == 0) { /* 5.1.2 */
        check_receive(chain);
    } else {
        rules_check(RULE_PAIRS_TOLD, queue - rules.queue < 2 * (ptrdiff_t)rules.pairs_told);
        check_transmit(chain);
    }
}

void rules_give(struct rules_queue *queue, uint16_t id, uint16_t descriptors)
{
    rules_check(RULE_CHAIN_FREE, id < queue->size && queue->descriptors_of[id] == 0);
    queue->descriptors_of[id] = descriptors;
    queue->order[queue->chains_given++ % VIRTQUEUE_SIZE_MAX] = id;
}

unsigned rules_return(struct rules_queue *queue, uint16_t id)
{
    unsigned descriptors = 0;
    uint16_t each = id;

    if (id >= queue->size || queue->descriptors_of[id] == 0) {
        return 0;
    }
    do {
        if (rules_agreed(VIRTIO_F_IN_ORDER)) {
            each = queue->order[queue->chains_returned % VIRTQUEUE_SIZE_MAX];
        }
        queue->chains_returned++;
        descriptors += queue->descriptors_of[each];
        queue->descriptors_of[each] = 0;
    } while (each != id);
    return descriptors;
}

static bool is_packed(void)
{
    return rules_agreed(VIRTIO_F_RING_PACKED);
}

unsigned rules_returned(unsigned number)
{
    struct rules_queue *queue = &rules.queue[number];

    (is_packed() ? packed_take_back : split_take_back)(queue);
    return queue->chains_returned;
}

void rules_describe(void)
{
    for (unsigned i = 0; i < RULES_QUEUES; i++) {
        const struct rules_queue *queue = &rules.queue[i];

        if (queue->enabled_once) {
            printf("queue %u of %u: ", i, queue->size);
            (is_packed() ? packed_describe : split_describe)(queue);
        }
    }
}

void rules_store16(const uint16_t *shared, uint16_t value)
{
    for (unsigned i = 0; i < RULES_QUEUES && rules.station != NULL && !is_packed(); i++) {
        if (rules.queue[i].enabled_once) {
            split_store16(&rules.queue[i], shared, value);
        }
    }
}

void rules_store32(const uint32_t *shared, uint32_t value)
{
    for (unsigned i = 0; i < RULES_QUEUES && rules.station != NULL && is_packed(); i++) {
        if (rules.queue[i].enabled_once) {
            packed_store32(&rules.queue[i], shared, value);
        }
    }
}

uint64_t rules_store64(const uint64_t *shared, uint64_t value)
{
    for (unsigned i = 0; i < RULES_QUEUES && rules.station != NULL && is_packed(); i++) {
        if (rules.queue[i].enabled_once) {
            value = packed_store64(&rules.queue[i], shared, value);
        }
    }
    return value;
}
