/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about resets in mid-traffic, and about a device that gives up. */
#include "cases.h"
#include "rules.h"
#include <string.h>

/* Descriptor flags common to both ring formats. */
#define NEXT     UINT64_C(1)
#define WRITE    UINT64_C(2)
#define INDIRECT UINT64_C(4)

/* The second half of a descriptor. Split: length, flags, next; packed: length, id, flags. */
#define BYTES_MASK   UINT64_C(0xffffffff)
#define SPLIT_FLAGS  32u
#define SPLIT_NEXT   48u
#define PACKED_FLAGS 48u
#define MARKS        (UINT64_C(0x8080) << PACKED_FLAGS) /* available, used */

/* The numbers are those of test_device.py. */
enum way { WAY_HEAD, WAY_NEXT, WAY_LOOP, WAY_EMPTY, WAY_DIRECTION, WAY_TABLE, WAY_HEADER };

static const struct rules_queue *sabotaged_queue;
static enum way sabotage;
static bool done;

/* Both directions are full of frames when the driver resets the device; every buffer comes back
 * once. */
static void reset_in_traffic(struct station *station)
{
    for (unsigned round = 0; round < 10; round++) {
        station_start(station);
        station_exchange(station, 10, 2);
        for (unsigned i = 0; i < 20 + 13 * round; i++) {
            (void)station_send(station, 200 + i, 1 + i % 4);
            (void)station_inject(station, 300 + i);
            if (i % 5 == round % 5) {
                virtio_net_flush(station->net);
            }
        }
        for (unsigned i = 0; i < round; i++) {
            station_serve(station, false);
        }
        station_stop(station);
        station_clear_wire(station);
    }
    station_start(station);
    station_clear_wire(station);
}

/* Ways to make a chain that QEMU refuses (hw/virtio/virtio.c, hw/net/virtio-net.c), if the ring
 * format allows them. */
static uint64_t spoiled(uint64_t rest, unsigned flags)
{
    switch (sabotage) {
    case WAY_EMPTY:
        return rest & ~BYTES_MASK;
    case WAY_DIRECTION:
        return rest ^ WRITE << flags;
    case WAY_TABLE: /* with a size that no table has */
        return (rest & ~((NEXT | WRITE) << flags | BYTES_MASK)) | INDIRECT << flags | 17;
    default: /* shorter than a header */
        return (rest & ~(NEXT << flags | BYTES_MASK)) | 4;
    }
}

static void spoil_split(const struct rules_publication *publication)
{
    const struct rules_queue *queue = publication->queue;
    uint64_t *table = qtest_memory(queue->descriptors, 16 * (size_t)queue->size);
    uint16_t *available = qtest_memory(queue->driver_area, 4 + 2 * (size_t)queue->size);
    uint64_t *rest = &table[2 * (size_t)publication->at + 1];
    uint64_t without = *rest & ~(UINT64_C(0xffff) << SPLIT_NEXT);

    switch (sabotage) {
    case WAY_HEAD: /* the head is no descriptor of the ring */
        available[2 + queue->published % queue->size] = (uint16_t)queue->size;
        break;
    case WAY_NEXT: /* the next descriptor is none of the ring */
        *rest = without | NEXT << SPLIT_FLAGS | (uint64_t)queue->size << SPLIT_NEXT;
        break;
    case WAY_LOOP: /* the chain is a loop */
        *rest = without | NEXT << SPLIT_FLAGS | (uint64_t)publication->at << SPLIT_NEXT;
        break;
    default:
        *rest = spoiled(*rest, SPLIT_FLAGS);
        break;
    }
}

/* A packed chain is a run of descriptors, so a loop takes the whole ring. */
static void spoil_packed(const struct rules_publication *publication)
{
    const struct rules_queue *queue = publication->queue;
    uint64_t *ring = qtest_memory(queue->descriptors, 16 * (size_t)queue->size);

    if (sabotage != WAY_LOOP) {
        *publication->rest = spoiled(*publication->rest, PACKED_FLAGS);
        return;
    }
    *publication->rest |= NEXT << PACKED_FLAGS;
    for (uint32_t i = 0; i < queue->size; i++) {
        uint16_t place = (uint16_t)(queue->used + i);
        uint64_t *each = &ring[2 * (size_t)(place % queue->size)];
        bool wrap = (place / queue->size) % 2 == 0;

        /* Looks like an entry of the previous lap, so it counts neither as available nor as
         * used. */
        each[0] = ring[2 * (size_t)publication->at];
        each[1] = (*publication->rest & ~MARKS) | (wrap ? 0 : MARKS);
    }
}

static void on_publish(const struct rules_publication *publication)
{
    if (publication->queue == sabotaged_queue && !done) {
        (publication->rest == NULL ? spoil_split : spoil_packed)(publication);
        done = true;
    }
}

static uint8_t device_status(struct station *station)
{
    return station->transport->operations->status(station->transport);
}

/* 2.1.2, 2.7: a descriptor in either queue that the device refuses. A modern device asks for a
 * reset; the driver notices, reports the reason, and works again after a restart. A legacy device
 * can't ask and just stops. `count`: the way, plus 16 for the receive queue. */
static void needs_reset(struct station *station)
{
    bool transmitting = station->setting->count / 16 == 0;

    sabotaged_queue = &rules.queue[transmitting];
    sabotage = (enum way)(station->setting->count % 16);
    done = false;
    station_start(station);
    station_exchange(station, 20, 2);
    rules_on_publish = on_publish;
    for (unsigned tries = 0; !done; tries++) {
        assert_true(tries < 1000);
        assert_true(transmitting ? station_send(station, 100, 1) : station_inject(station, 100));
        virtio_net_flush(station->net);
        station_serve(station, true);
    }
    /* The device notices when it reads the descriptor. */
    (void)station_inject(station, 100);
    if (!station->transport->legacy) {
        for (unsigned tries = 0; virtio_net_broken(station->net) == NULL; tries++) {
            assert_true(tries < 10000);
            if (!transmitting && tries < 200) {
                (void)station_inject(station, 100);
            }
            station_serve(station, true);
        }
        assert_non_null(strstr(virtio_net_broken(station->net), "reset"));
        /* With INTx the driver has already reset the device, because the line might never be
         * released otherwise. */
        assert_int_equal(device_status(station) & VIRTIO_STATUS_NEEDS_RESET,
                         station->transport->vectors == 0 ? 0 : VIRTIO_STATUS_NEEDS_RESET);
        assert_int_equal(station_statistics(station).broken, 1);
        assert_false(station_send(station, 100, 1));
    }
    rules_on_publish = NULL;
    station_stop(station);
    station_clear_wire(station);
    station_start(station);
    station_clear_wire(station);
    station_exchange(station, 100, 3);
}

const struct device_case recovery_cases[] = {
    {"reset_in_traffic", reset_in_traffic},
    {"needs_reset", needs_reset},
    {0},
};
