/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's rings, on the model in hardware_models/virtio/ring.h. */
#include "fake.h"
#include "virtio/endian.h"
#include <string.h>

uint64_t fake_ring_features;
bool fake_batches;
struct virtio_pool *fake_pool;

static void use_pool(void)
{
    static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t memory[FAKE_POOL_BYTES];
    static struct virtio_pool pool;

    virtio_pool_init(&pool, memory, sizeof(memory));
    fake_pool = &pool;
}

void fake_choose_ring(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "batch") == 0) {
            fake_batches = true;
        } else if (strcmp(arguments[i], "pool") == 0) {
            use_pool();
        } else {
            fake_ring_features |=
                strcmp(arguments[i], "packed") == 0 ? VIRTIO_F_RING_PACKED : VIRTIO_F_IN_ORDER;
        }
    }
}

static void *host(uint64_t address)
{
    uint8_t *memory;

    assert_true(address >= FAKE_DMA_OFFSET); /* an address, not a pointer */
    memory = (uint8_t *)(uintptr_t)(address - FAKE_DMA_OFFSET);
    assert_true(fake_pool == NULL ||
                (memory >= fake_pool->memory && memory < fake_pool->memory + fake_pool->bytes));
    return memory;
}

/* The sanitizer sees an access beyond the driver's memory. */
static void *reach(void *context, uint64_t address, uint32_t bytes, bool write)
{
    (void)context;
    (void)bytes;
    (void)write;
    return host(address);
}

static void broken(void *context, const char *rule)
{
    (void)context;
    fail_msg("the driver breaks a rule: %s", rule);
}

struct ring *fake_ring(unsigned index)
{
    static const struct ring_memory memory = {.reach = reach, .broken = broken};
    struct ring *ring;

    assert_true(index < FAKE_QUEUES && fake->queue[index].enabled);
    ring = &fake->queue[index].ring;
    ring->memory = &memory;
    ring->features = fake->accepted;
    ring->omits_write = true;
    return ring;
}

static void *place(unsigned index, enum ring_field field, uint64_t position)
{
    return host(ring_place(fake_ring(index), field, position));
}

uint8_t *fake_memory(const struct ring_segment *segment)
{
    return host(segment->address);
}

static bool event_index(void)
{
    return (fake->accepted & VIRTIO_F_EVENT_IDX) != 0;
}

uint16_t *fake_available_flags(unsigned index)
{
    return place(index, RING_AVAILABLE_FLAGS, 0);
}

uint16_t *fake_available_index(unsigned index)
{
    return place(index, RING_AVAILABLE_INDEX, 0);
}

uint16_t *fake_used_event(unsigned index)
{
    return place(index, RING_USED_EVENT, 0);
}

uint16_t *fake_used_flags(unsigned index)
{
    return place(index, RING_USED_FLAGS, 0);
}

uint16_t *fake_used_index(unsigned index)
{
    return place(index, RING_USED_INDEX, 0);
}

uint32_t *fake_used_element(unsigned index, uint16_t position)
{
    return place(index, RING_USED_ELEMENT, position);
}

uint16_t *fake_available_event(unsigned index)
{
    return place(index, RING_AVAILABLE_EVENT, 0);
}

uint16_t fake_packed_wrap(unsigned index, uint64_t total)
{
    return ring_wrap(fake_ring(index), total);
}

struct fake_packed_descriptor *fake_packed_descriptor(unsigned index, uint64_t total)
{
    return place(index, RING_DESCRIPTOR, total);
}

struct fake_packed_event *fake_driver_event(unsigned index)
{
    return place(index, RING_DRIVER_EVENT, 0);
}

struct fake_packed_event *fake_device_event(unsigned index)
{
    return place(index, RING_DEVICE_EVENT, 0);
}

void fake_packed_mark(unsigned index, uint64_t total, uint16_t id, uint32_t bytes)
{
    struct ring *ring = fake_ring(index);
    uint64_t used = ring->used;

    ring->used = total;
    ring_push(ring, id, bytes, 0, 0);
    ring->used = used;
}

unsigned fake_available(unsigned index)
{
    return ring_available(fake_ring(index));
}

bool fake_pop(unsigned index, struct ring_chain *chain)
{
    if (!ring_take(fake_ring(index), chain)) {
        return false;
    }
    for (unsigned i = 0; i < chain->count; i++) {
        assert_non_null(fake_memory(&chain->segment[i]));
    }
    return true;
}

void fake_push(unsigned index, uint32_t id, uint32_t written)
{
    struct ring *ring = fake_ring(index);
    unsigned descriptors = 1;

    if (id < ring->size && ring->held[id] != 0) {
        descriptors = ring->held[id];
        ring->held[id] = 0;
    }
    ring_push(ring, id, written, 1, descriptors);
}

void fake_push_batch(unsigned index, const struct ring_chain *chain, unsigned count,
                     uint32_t written)
{
    struct ring *ring = fake_ring(index);

    for (unsigned i = 0; i < count; i++) {
        assert_int_not_equal(ring->held[chain[i].id], 0);
    }
    ring_return(ring, chain, count, written);
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
    if (ring_wants_interrupt(fake_ring(index))) {
        fake->queue[index].interrupts++;
        raise_interrupt(fake->queue[index].vector, VIRTIO_CAUSE_QUEUE);
    }
}

void fake_complete(unsigned index, const struct ring_chain *chain, uint32_t written)
{
    fake_push(index, chain->id, written);
    fake_signal(index);
}

/* Without EVENT_IDX a device that wants no notifications stays with that. */
static void ask(unsigned index, uint64_t ahead)
{
    if (fake->no_notifications && !event_index()) {
        ring_ask_never(fake_ring(index));
    } else {
        ring_ask(fake_ring(index), ahead);
    }
}

void fake_ask_notification(unsigned index)
{
    ask(index, 0);
}

/* Each chain is one descriptor: enough for the tests. */
void fake_ask_new_notification(unsigned index)
{
    ask(index, fake_available(index));
}

void fake_ask_no_notification(unsigned index)
{
    if (fake_packed() || event_index()) {
        ring_ask_never(fake_ring(index));
    } else {
        ask(index, 0);
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
    struct ring_chain chain;
    uint8_t *memory;

    if (!fake_pop(0, &chain)) {
        return false;
    }
    assert_int_equal(chain.count, 1);
    assert_true(chain.segment[0].writable);
    assert_true(bytes + 12 <= chain.segment[0].bytes);
    memory = fake_memory(&chain.segment[0]);
    /* num_buffers stays what it was, as QEMU leaves it: garbage here. */
    memset(memory, 0xa5, 12);
    memory[0] = header_flags;
    memory[1] = 0;
    memcpy(memory + 6, &(uint16_t){virtio_le16(start)}, 2);
    memcpy(memory + 8, &(uint16_t){virtio_le16(offset)}, 2);
    memcpy(memory + 12, frame, bytes);
    fake_complete(0, &chain, bytes + 12);
    return true;
}

uint32_t fake_transmit(uint8_t *frame, uint32_t limit, bool complete, struct ring_chain *chain)
{
    uint32_t bytes = 0;

    if (!fake_pop(1, chain)) {
        return 0;
    }
    for (unsigned i = 0; i < chain->count; i++) {
        assert_false(chain->segment[i].writable);
        assert_true(bytes + chain->segment[i].bytes <= limit);
        memcpy(frame + bytes, fake_memory(&chain->segment[i]), chain->segment[i].bytes);
        bytes += chain->segment[i].bytes;
    }
    if (complete) {
        fake_complete(1, chain, 0);
    }
    return bytes;
}
