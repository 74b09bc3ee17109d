/* SPDX-License-Identifier: BSD-2-Clause */
/* Resets in mid-traffic, and a device that gives up. */
#include "cases.h"
#include "rules.h"
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

static unsigned sabotaged_queue;
static unsigned sabotage;
static bool done;

/* Both ways full of frames when the driver resets the device: every buffer comes back once. */
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

/* The ways to make a chain that QEMU can't accept (hw/virtio/virtio.c, hw/net/virtio-net.c). */
static void spoil(struct descriptor *descriptor, const struct rules_queue *queue, uint16_t head)
{
    uint16_t *available = qtest_memory(queue->driver_area, 4 + 2 * (size_t)queue->size);
    uint16_t beyond = (uint16_t)queue->size;

    switch (sabotage) {
    case 0: /* the head is no descriptor */
        available[2 + queue->published % queue->size] = beyond;
        break;
    case 1: /* the next descriptor is none */
        descriptor->flags |= NEXT;
        descriptor->next = beyond;
        break;
    case 2: /* the chain is a loop */
        descriptor->flags |= NEXT;
        descriptor->next = head;
        break;
    case 3: /* an empty buffer */
        descriptor->bytes = 0;
        break;
    case 4: /* the wrong direction */
        descriptor->flags ^= WRITE;
        break;
    case 5: /* a table of a size that none has */
        descriptor->flags = INDIRECT;
        descriptor->bytes = sizeof(struct descriptor) + 1;
        break;
    default: /* less than a header */
        descriptor->bytes = 4;
        descriptor->flags &= (uint16_t)~NEXT;
        break;
    }
}

static void on_publish(unsigned number, uint16_t head)
{
    const struct rules_queue *queue = &rules.queue[number];
    struct descriptor *descriptors =
        qtest_memory(queue->descriptors, queue->size * sizeof(struct descriptor));

    if (number == sabotaged_queue && !done) {
        spoil(&descriptors[head], queue, head);
        done = true;
    }
}

static uint8_t device_status(struct station *station)
{
    return station->transport->operations->status(station->transport);
}

/* 2.1.2, 2.7: a descriptor that the device can't accept, in either queue. A modern device asks for
 * a reset; the driver notices, says why, and is back after a restart. A legacy one falls silent:
 * it has no way to tell. `count`: the way, and 16 for the receive queue. */
static void needs_reset(struct station *station)
{
    sabotaged_queue = station->setting->count / 16 == 0;
    sabotage = station->setting->count % 16;
    done = false;
    station_start(station);
    station_exchange(station, 20, 2);
    rules_on_publish = on_publish;
    for (unsigned tries = 0; !done; tries++) {
        assert_true(tries < 1000);
        assert_true(sabotaged_queue == 0 ? station_inject(station, 100)
                                         : station_send(station, 100, 1));
        virtio_net_flush(station->net);
        station_serve(station, true);
    }
    /* The device finds it when it gets there. */
    (void)station_inject(station, 100);
    if (!station->transport->legacy) {
        for (unsigned tries = 0; virtio_net_broken(station->net) == NULL; tries++) {
            assert_true(tries < 10000);
            if (sabotaged_queue == 0 && tries < 200) {
                (void)station_inject(station, 100);
            }
            station_serve(station, true);
        }
        assert_non_null(strstr(virtio_net_broken(station->net), "reset"));
        /* With a line the driver has reset it at once: it might never be released otherwise. */
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
