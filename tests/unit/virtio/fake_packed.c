/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of the packed ring (VIRTIO 1.3, 2.8), checking what the driver must do. Places
 * are counted in descriptors since the start. */
#include "fake.h"
#include <string.h>

#define AVAILABLE 0x0080u
#define USED      0x8000u

/* 2.8.1: 1 in the first lap. */
uint16_t fake_packed_wrap(unsigned index, uint64_t total)
{
    return (total / fake_queue_of(index)->size) % 2 == 0;
}

struct fake_packed_descriptor *fake_packed_descriptor(unsigned index, uint64_t total)
{
    struct fake_queue *queue = fake_queue_of(index);

    return (struct fake_packed_descriptor *)fake_host(queue->descriptors) + total % queue->size;
}

struct fake_packed_event *fake_driver_event(unsigned index)
{
    return fake_host(fake_queue_of(index)->driver_area);
}

struct fake_packed_event *fake_device_event(unsigned index)
{
    return fake_host(fake_queue_of(index)->device_area);
}

/* 2.8.1: AVAIL is the wrap counter, USED its inverse. */
static bool is_available(unsigned index, uint64_t total)
{
    uint16_t flags = fake_packed_descriptor(index, total)->flags;
    bool wrap = fake_packed_wrap(index, total) != 0;

    return ((flags & AVAILABLE) != 0) == wrap && ((flags & USED) != 0) != wrap;
}

unsigned fake_packed_available(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);
    uint64_t total = queue->available_total;
    unsigned chains = 0;

    while (total - queue->used_total < queue->size && is_available(index, total)) {
        chains += (fake_packed_descriptor(index, total)->flags & 1u) == 0;
        total++;
    }
    return chains;
}

/* 2.8.7, 2.8.19: a table, with no flag but WRITE. */
static void collect_table(struct fake_chain *chain, const struct fake_packed_descriptor *head,
                          unsigned limit)
{
    const struct fake_packed_descriptor *table = fake_host(head->address);

    assert_true((fake->accepted & VIRTIO_F_INDIRECT_DESC) != 0);
    assert_int_equal(head->flags & 3u, 0);
    assert_true(head->bytes != 0 && head->bytes % 16 == 0);
    assert_int_equal(head->address % 16, 0);
    assert_true(head->bytes / 16 <= limit);
    for (unsigned i = 0; i < head->bytes / 16; i++) {
        assert_int_equal(table[i].flags & ~2u, 0);
        fake_collect(chain, table[i].address, table[i].bytes, (table[i].flags & 2u) != 0);
    }
    chain->indirect = true;
}

bool fake_packed_pop(unsigned index, struct fake_chain *chain)
{
    struct fake_queue *queue = fake_queue_of(index);
    const struct fake_packed_descriptor *at;

    *chain = (struct fake_chain){0};
    if (!is_available(index, queue->available_total)) {
        return false;
    }
    do {
        at = fake_packed_descriptor(index, queue->available_total);
        /* 2.8.17: the first descriptor is made available last. */
        assert_true(is_available(index, queue->available_total));
        assert_int_equal(at->flags & ~(USED | AVAILABLE | 7u), 0);
        if ((at->flags & 4u) != 0) {
            assert_int_equal(chain->count, 0);
            collect_table(chain, at, queue->size);
            queue->indirect_chains++;
        } else {
            fake_collect(chain, at->address, at->bytes, (at->flags & 2u) != 0);
        }
        chain->descriptors++;
        queue->available_total++;
        /* 2.8.17, 2.8.16: nothing that is with the device, or was not seen as used, is changed. */
        assert_true(queue->available_total - queue->used_total <= queue->size);
    } while ((at->flags & 1u) != 0);
    chain->head = at->id; /* 2.8.6: in the last one */
    assert_true(chain->head < queue->size);
    assert_false(queue->held[chain->head]);
    queue->held[chain->head] = true;
    queue->lengths[chain->head] = chain->descriptors;
    return true;
}

void fake_packed_mark(unsigned index, uint64_t total, uint16_t id, uint32_t bytes)
{
    struct fake_packed_descriptor *at = fake_packed_descriptor(index, total);
    uint16_t flags = fake_packed_wrap(index, total) != 0 ? USED | AVAILABLE : 0;

    at->id = id;
    at->bytes = bytes;
    /* 2.8.3: WRITE says that something was written. There are devices that never set it. */
    at->flags = (uint16_t)(flags | (bytes != 0 && total % 2 != 0 ? 2u : 0u));
}

void fake_packed_push(unsigned index, uint32_t head, uint32_t written, unsigned skip)
{
    struct fake_queue *queue = fake_queue_of(index);

    fake_packed_mark(index, queue->used_total, (uint16_t)head, written);
    queue->used_total += skip;
}

/* 2.8.10: for the descriptor, in the lap, that the driver named; or for any. */
bool fake_packed_wants_interrupt(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);
    const struct fake_packed_event *event = fake_driver_event(index);
    uint64_t total = queue->signalled_total;

    queue->signalled_total = queue->used_total;
    assert_true(event->flags <= 2);
    if (event->flags != 2) {
        return event->flags == 0 && total != queue->used_total;
    }
    assert_true((fake->accepted & VIRTIO_F_EVENT_IDX) != 0);
    assert_true((event->where & 0x7fff) < queue->size);
    for (; total != queue->used_total; total++) {
        if (event->where ==
            (total % queue->size | (unsigned)fake_packed_wrap(index, total) << 15)) {
            return true;
        }
    }
    return false;
}
