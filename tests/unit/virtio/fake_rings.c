/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of the rings, checking what the driver must do: the split one
 * (VIRTIO 1.3, 2.7), and what is the same for both. */
#include "fake.h"
#include "virtio/endian.h"
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

uint64_t fake_ring_features;
bool fake_batches;

void fake_choose_ring(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "batch") == 0) {
            fake_batches = true;
        } else {
            fake_ring_features |=
                strcmp(arguments[i], "packed") == 0 ? VIRTIO_F_RING_PACKED : VIRTIO_F_IN_ORDER;
        }
    }
}

void *fake_host(uint64_t address)
{
    assert_true(address >= FAKE_DMA_OFFSET); /* an address, not a pointer */
    return (void *)(uintptr_t)(address - FAKE_DMA_OFFSET);
}

struct fake_queue *fake_queue_of(unsigned index)
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
    return fake_host(fake_queue_of(index)->driver_area);
}

uint16_t *fake_available_index(unsigned index)
{
    return fake_available_flags(index) + 1;
}

uint16_t *fake_used_event(unsigned index)
{
    return fake_available_flags(index) + 2 + fake_queue_of(index)->size;
}

uint16_t *fake_used_flags(unsigned index)
{
    return fake_host(fake_queue_of(index)->device_area);
}

uint16_t *fake_used_index(unsigned index)
{
    return fake_used_flags(index) + 1;
}

uint32_t *fake_used_element(unsigned index, uint16_t position)
{
    uint16_t slot = position & (uint16_t)(fake_queue_of(index)->size - 1u);

    return fake_host(fake_queue_of(index)->device_area + 4 + UINT64_C(8) * slot);
}

uint16_t *fake_available_event(unsigned index)
{
    return fake_host(fake_queue_of(index)->device_area + 4 +
                     UINT64_C(8) * fake_queue_of(index)->size);
}

static bool in_order(void)
{
    return (fake->accepted & VIRTIO_F_IN_ORDER) != 0;
}

/* 2.7.4.2 and 2.8.17: readable before writable; 2.7.5: nothing empty. */
void fake_collect(struct fake_chain *chain, uint64_t address, uint32_t bytes, bool writable)
{
    assert_true(bytes != 0);
    assert_true(writable || chain->count == 0 || !chain->segment[chain->count - 1].writable);
    assert_true(chain->count < FAKE_SEGMENTS);
    chain->segment[chain->count++] = (struct fake_segment){fake_host(address), bytes, writable};
}

/* One table: the ring's or an indirect one. Checks 2.7.5 and 2.7.5.3.1. */
static void collect(const struct descriptor *table, unsigned table_count, uint16_t first,
                    struct fake_chain *chain, unsigned chain_max)
{
    uint16_t at = first;

    for (;;) {
        const struct descriptor *descriptor = &table[at];

        assert_true(at < table_count);
        assert_int_equal(descriptor->flags & ~3u, 0);
        assert_true(chain->count < chain_max);
        fake_collect(chain, descriptor->address, descriptor->bytes, (descriptor->flags & 2u) != 0);
        if ((descriptor->flags & 1u) == 0) {
            return;
        }
        if (in_order()) { /* 2.7.5.1, 2.7.5.3.1 */
            assert_int_equal(descriptor->next, at + 1u == table_count ? 0 : at + 1u);
        }
        at = descriptor->next;
    }
}

unsigned fake_available(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);
    unsigned available;

    if (fake_packed()) {
        return fake_packed_available(index);
    }
    available = (uint16_t)(*fake_available_index(index) - queue->last_available);

    assert_true(available <= queue->size);
    return available;
}

bool fake_pop(unsigned index, struct fake_chain *chain)
{
    struct fake_queue *queue = fake_queue_of(index);
    const struct descriptor *table = fake_host(queue->descriptors);

    if (fake_packed()) {
        return fake_packed_pop(index, chain);
    }
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
        collect(fake_host(head->address), head->bytes / 16, 0, chain, queue->size);
        assert_int_equal(chain->count, head->bytes / 16);
    } else {
        collect(table, queue->size, chain->head, chain, queue->size);
    }
    chain->descriptors = (uint16_t)(chain->indirect ? 1 : chain->count);
    if (in_order()) { /* 2.7.5: in ring order */
        assert_int_equal(chain->head, queue->available_total % queue->size);
    }
    queue->available_total += chain->descriptors;
    return true;
}

static void push(unsigned index, uint32_t head, uint32_t written, uint16_t count)
{
    struct fake_queue *queue = fake_queue_of(index);
    uint32_t *element = fake_used_element(index, queue->used_index);

    element[0] = head;
    element[1] = written;
    queue->used_index = (uint16_t)(queue->used_index + count);
    *fake_used_index(index) = queue->used_index;
}

void fake_push(unsigned index, uint32_t head, uint32_t written)
{
    struct fake_queue *queue = fake_queue_of(index);
    bool known = head < queue->size && queue->held[head];

    if (known) {
        queue->held[head] = false;
    }
    if (fake_packed()) {
        fake_packed_push(index, head, written, known ? queue->lengths[head] : 1);
    } else {
        push(index, head, written, 1);
    }
}

/* 2.7.9 and 2.8.8 */
void fake_push_batch(unsigned index, const struct fake_chain *chain, unsigned count,
                     uint32_t written)
{
    struct fake_queue *queue = fake_queue_of(index);
    unsigned descriptors = 0;

    for (unsigned i = 0; i < count; i++) {
        assert_true(queue->held[chain[i].head]);
        queue->held[chain[i].head] = false;
        descriptors += chain[i].descriptors;
    }
    if (fake_packed()) {
        fake_packed_push(index, chain[count - 1].head, written, descriptors);
    } else {
        push(index, chain[count - 1].head, written, (uint16_t)count);
    }
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

static bool wants_interrupt(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);
    uint16_t before = queue->signalled;

    queue->signalled = queue->used_index;
    if (event_index()) {
        return (uint16_t)(queue->used_index - *fake_used_event(index) - 1u) <
               (uint16_t)(queue->used_index - before);
    }
    return (*fake_available_flags(index) & 1u) == 0 && queue->used_index != before;
}

void fake_signal(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);

    if (fake_packed() ? fake_packed_wants_interrupt(index) : wants_interrupt(index)) {
        queue->interrupts++;
        raise_interrupt(queue->vector, VIRTIO_CAUSE_QUEUE);
    }
}

void fake_complete(unsigned index, const struct fake_chain *chain, uint32_t written)
{
    fake_push(index, chain->head, written);
    fake_signal(index);
}

/* 2.7.10, 2.8.10: at the place `ahead` behind the last that was taken. */
static void ask(unsigned index, uint64_t ahead)
{
    struct fake_queue *queue = fake_queue_of(index);

    if (fake_packed() && event_index()) {
        uint64_t total = queue->available_total + ahead;

        fake_device_event(index)->where =
            (uint16_t)(total % queue->size | (unsigned)fake_packed_wrap(index, total) << 15);
        fake_device_event(index)->flags = 2;
    } else if (fake_packed()) {
        fake_device_event(index)->flags = fake->no_notifications;
    } else if (event_index()) {
        *fake_available_event(index) = (uint16_t)(queue->last_available + ahead);
    } else {
        *fake_used_flags(index) = fake->no_notifications;
    }
}

void fake_ask_notification(unsigned index)
{
    ask(index, 0);
}

void fake_ask_new_notification(unsigned index)
{
    struct fake_queue *queue = fake_queue_of(index);
    uint64_t ahead = 0;

    if (fake_packed()) { /* one descriptor each: enough for the tests */
        ahead = fake_packed_available(index);
    } else {
        ahead = (uint16_t)(*fake_available_index(index) - queue->last_available);
    }
    ask(index, ahead);
}

void fake_ask_no_notification(unsigned index)
{
    if (fake_packed()) {
        fake_device_event(index)->flags = 1;
    } else {
        ask(index, 0x8000); /* half of the range away */
    }
}

bool fake_interrupts_wanted(unsigned index)
{
    if (fake_packed()) {
        return fake_driver_event(index)->flags != 1;
    }
    return event_index() ? *fake_used_event(index) != 0xffff : *fake_available_flags(index) == 0;
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
    return fake_receive_partial(frame, bytes, header_flags, 0, 0);
}

bool fake_receive_partial(const void *frame, uint32_t bytes, uint8_t header_flags, uint16_t start,
                          uint16_t offset)
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
    memcpy(chain.segment[0].memory + 6, &(uint16_t){virtio_le16(start)}, 2);
    memcpy(chain.segment[0].memory + 8, &(uint16_t){virtio_le16(offset)}, 2);
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
