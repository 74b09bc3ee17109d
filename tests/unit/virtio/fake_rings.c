/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of the split ring (VIRTIO 1.3, 2.7), checking what the driver must do. */
#include "fake.h"
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

static void *host(uint64_t address)
{
    assert_true(address >= FAKE_DMA_OFFSET); /* an address, not a pointer */
    return (void *)(uintptr_t)(address - FAKE_DMA_OFFSET);
}

static struct fake_queue *queue_of(unsigned index)
{
    assert_true(index < FAKE_QUEUES && fake->queue[index].enabled);
    return &fake->queue[index];
}

static bool event_index(void)
{
    return (fake->accepted & VIRTIO_F_EVENT_IDX) != 0;
}

uint16_t *fake_available_flags(unsigned index)
{
    return host(queue_of(index)->driver_area);
}

uint16_t *fake_available_index(unsigned index)
{
    return fake_available_flags(index) + 1;
}

uint16_t *fake_used_event(unsigned index)
{
    return fake_available_flags(index) + 2 + queue_of(index)->size;
}

uint16_t *fake_used_flags(unsigned index)
{
    return host(queue_of(index)->device_area);
}

uint16_t *fake_used_index(unsigned index)
{
    return fake_used_flags(index) + 1;
}

uint32_t *fake_used_element(unsigned index, uint16_t position)
{
    uint16_t slot = position & (uint16_t)(queue_of(index)->size - 1u);

    return host(queue_of(index)->device_area + 4 + UINT64_C(8) * slot);
}

uint16_t *fake_available_event(unsigned index)
{
    return host(queue_of(index)->device_area + 4 + UINT64_C(8) * queue_of(index)->size);
}

/* One table: the ring's or an indirect one. Checks 2.7.4.2, 2.7.5 and 2.7.5.3.1. */
static void collect(const struct descriptor *table, unsigned table_count, uint16_t first,
                    struct fake_chain *chain, unsigned chain_max)
{
    bool writable_seen = chain->count != 0 && chain->segment[chain->count - 1].writable;
    uint16_t at = first;

    for (;;) {
        const struct descriptor *descriptor = &table[at];
        bool writable = (descriptor->flags & 2u) != 0;

        assert_true(at < table_count);
        assert_int_equal(descriptor->flags & ~3u, 0);
        assert_true(descriptor->bytes != 0);
        assert_true(writable || !writable_seen);
        writable_seen = writable;
        assert_true(chain->count < chain_max && chain->count < FAKE_SEGMENTS);
        chain->segment[chain->count++] =
            (struct fake_segment){host(descriptor->address), descriptor->bytes, writable};
        if ((descriptor->flags & 1u) == 0) {
            return;
        }
        at = descriptor->next;
    }
}

unsigned fake_available(unsigned index)
{
    struct fake_queue *queue = queue_of(index);
    unsigned available = (uint16_t)(*fake_available_index(index) - queue->last_available);

    assert_true(available <= queue->size);
    return available;
}

bool fake_pop(unsigned index, struct fake_chain *chain)
{
    struct fake_queue *queue = queue_of(index);
    const struct descriptor *table = host(queue->descriptors);

    if (event_index()) {
        assert_int_equal(*fake_available_flags(index), 0); /* 2.7.7.1 */
    }
    if (fake_available(index) == 0) {
        return false;
    }
    *chain = (struct fake_chain){0};
    chain->head = fake_available_flags(index)[2 + (queue->last_available & (queue->size - 1u))];
    assert_true(chain->head < queue->size);
    assert_false(queue->held[chain->head]);
    queue->held[chain->head] = true;
    queue->last_available++;
    if ((table[chain->head].flags & 4u) != 0) {
        const struct descriptor *head = &table[chain->head];

        assert_true((fake->accepted & VIRTIO_F_INDIRECT_DESC) != 0);
        assert_int_equal(head->flags, 4);
        assert_true(head->bytes != 0 && head->bytes % 16 == 0);
        assert_int_equal(head->address % 16, 0);
        chain->indirect = true;
        queue->indirect_chains++;
        collect(host(head->address), head->bytes / 16, 0, chain, queue->size);
        assert_int_equal(chain->count, head->bytes / 16);
    } else {
        collect(table, queue->size, chain->head, chain, queue->size);
    }
    return true;
}

void fake_push(unsigned index, uint32_t head, uint32_t written)
{
    struct fake_queue *queue = queue_of(index);
    uint32_t *element = fake_used_element(index, queue->used_index);

    if (head < queue->size) {
        queue->held[head] = false;
    }
    element[0] = head;
    element[1] = written;
    queue->used_index++;
    *fake_used_index(index) = queue->used_index;
}

static void raise_interrupt(uint16_t vector, uint8_t cause)
{
    if (fake->line) {
        fake->isr |= cause;
        fake->raised[0] = true;
    } else if (vector != VIRTIO_NO_VECTOR) {
        fake->raised[vector] = true;
    }
}

void fake_signal(unsigned index)
{
    struct fake_queue *queue = queue_of(index);
    uint16_t before = queue->signalled;
    bool wanted;

    queue->signalled = queue->used_index;
    if (event_index()) {
        wanted = (uint16_t)(queue->used_index - *fake_used_event(index) - 1u) <
                 (uint16_t)(queue->used_index - before);
    } else {
        wanted = (*fake_available_flags(index) & 1u) == 0 && queue->used_index != before;
    }
    if (wanted) {
        queue->interrupts++;
        raise_interrupt(queue->vector, VIRTIO_CAUSE_QUEUE);
    }
}

void fake_complete(unsigned index, const struct fake_chain *chain, uint32_t written)
{
    fake_push(index, chain->head, written);
    fake_signal(index);
}

void fake_ask_notification(unsigned index)
{
    if (event_index()) {
        *fake_available_event(index) = queue_of(index)->last_available;
    } else {
        *fake_used_flags(index) = fake->no_notifications;
    }
}

void fake_config_interrupt(void)
{
    raise_interrupt(fake->config_vector, VIRTIO_CAUSE_CONFIG);
}

bool fake_raised(void)
{
    for (unsigned i = 0; i < sizeof(fake->raised) / sizeof(fake->raised[0]); i++) {
        if (fake->raised[i]) {
            return true;
        }
    }
    return false;
}

bool fake_receive(const void *frame, uint32_t bytes, uint8_t header_flags)
{
    struct fake_chain chain;

    if (!fake_pop(0, &chain)) {
        return false;
    }
    assert_int_equal(chain.count, 1);
    assert_true(chain.segment[0].writable);
    assert_true(bytes + 12 <= chain.segment[0].bytes);
    /* num_buffers stays what it was, as QEMU leaves it: garbage here. */
    memset(chain.segment[0].memory, 0xa5, 12);
    chain.segment[0].memory[0] = header_flags;
    chain.segment[0].memory[1] = 0;
    memcpy(chain.segment[0].memory + 12, frame, bytes);
    fake_complete(0, &chain, bytes + 12);
    return true;
}

uint32_t fake_transmit(uint8_t *frame, uint32_t limit, bool complete, struct fake_chain *chain)
{
    uint32_t bytes = 0;

    if (!fake_pop(1, chain)) {
        return 0;
    }
    for (unsigned i = 0; i < chain->count; i++) {
        assert_false(chain->segment[i].writable);
        assert_true(bytes + chain->segment[i].bytes <= limit);
        memcpy(frame + bytes, chain->segment[i].memory, chain->segment[i].bytes);
        bytes += chain->segment[i].bytes;
    }
    if (complete) {
        fake_complete(1, chain, 0);
    }
    return bytes;
}
