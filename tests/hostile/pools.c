/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The owner's pools. Each buffer and packet has one holder; what the driver and the device hold is
 * poisoned for AddressSanitizer, except the headers, which are the driver's. Frames carry a number
 * and a pattern made from it.
 */
#include "hostile.h"
#include <string.h>

#define HEADER_BYTES VIRTIO_NET_HEADER_BYTES
#define EXPECTED_MAX 1024u
#define SEGMENT_GAP  32u

/* AddressSanitizer's, if it is there. */
void __asan_poison_memory_region(const volatile void *memory, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *memory, size_t bytes) __attribute__((weak));

static void poison(const void *memory, size_t bytes)
{
    if (__asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(memory, bytes);
    }
}

static void unpoison(const void *memory, size_t bytes)
{
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(memory, bytes);
    }
}

struct pool_buffer {
    struct virtio_net_buffer buffer;
    bool with_driver;
};

struct pool_packet {
    struct virtio_net_packet packet;
    bool with_driver;
    bool sent; /* the device saw it */
    uint32_t number;
    uint32_t bytes;
};

struct expected {
    uint32_t bytes;
    bool pending;
};

struct pools {
    struct pool_buffer buffers[BUFFER_SLOTS];
    struct pool_packet packets[PACKET_SLOTS];
    struct expected expected[EXPECTED_MAX];
    unsigned buffers_usable;
    unsigned buffers_held; /* by the driver */
    unsigned packets_held;
    unsigned next_buffer;
    unsigned next_packet;
};

static struct pools pools;
static uint32_t packet_number;
static uint32_t frame_number;   /* of the next one to the driver */
static uint32_t frame_received; /* of the next one to come up */

void pool_clear(void)
{
    memset(&pools, 0, sizeof(pools));
    pools.buffers_usable = BUFFER_SLOTS;
    for (unsigned i = 0; i < PACKET_SLOTS; i++) {
        poison(memory_packet_slot(i), SLOT_BYTES);
    }
}

void pool_limit_buffers(unsigned count)
{
    pools.buffers_usable = 1 + count % BUFFER_SLOTS;
}

unsigned pool_buffers_held(void)
{
    return pools.buffers_held;
}

unsigned pool_packets_held(void)
{
    return pools.packets_held;
}

void frame_fill(uint8_t *frame, uint32_t number, uint32_t bytes)
{
    for (uint32_t i = 4; i < bytes; i++) {
        frame[i] = (uint8_t)(number + i);
    }
    memcpy(frame, &number, sizeof(number));
}

static bool frame_is(const uint8_t *frame, uint32_t number, uint32_t from, uint32_t bytes)
{
    for (uint32_t i = from < 4 ? 4 : from; i < from + bytes; i++) {
        if (frame[i - from] != (uint8_t)(number + i)) {
            return false;
        }
    }
    return true;
}

uint32_t pool_expect(uint32_t bytes)
{
    pools.expected[frame_number % EXPECTED_MAX] = (struct expected){bytes, true};
    return frame_number++;
}

void pool_forget_expected(void)
{
    frame_received = frame_number;
}

struct virtio_net_buffer *pool_take_buffer(uint32_t capacity)
{
    for (unsigned i = 0; i < pools.buffers_usable; i++) {
        unsigned which = (pools.next_buffer + i) % pools.buffers_usable;
        struct pool_buffer *ours = &pools.buffers[which];

        if (!ours->with_driver) {
            pools.next_buffer = which + 1;
            pools.buffers_held++;
            ours->with_driver = true;
            ours->buffer.memory = memory_buffer_slot(which);
            ours->buffer.capacity = capacity;
            ours->buffer.frame_bytes = UINT32_MAX;
            memory_expose_buffer(which, capacity);
            poison(ours->buffer.memory, SLOT_BYTES);
            unpoison(ours->buffer.memory, HEADER_BYTES);
            return &ours->buffer;
        }
    }
    return NULL;
}

void pool_return_buffer(const struct virtio_net_buffer *buffer)
{
    struct pool_buffer *ours = (struct pool_buffer *)(uintptr_t)buffer;
    unsigned which = (unsigned)(ours - pools.buffers);

    HOSTILE_CHECK(which < BUFFER_SLOTS && ours->with_driver, "a buffer comes back twice");
    HOSTILE_CHECK(buffer->memory == memory_buffer_slot(which), "a buffer's memory changed");
    ours->with_driver = false;
    pools.buffers_held--;
    memory_expose_buffer(which, 0);
    unpoison(buffer->memory, buffer->capacity);
}

/* The frames come in the order the device wrote them, whole. */
void pool_check_frame(const struct virtio_net_buffer *buffer, uint32_t bytes)
{
    const uint8_t *frame = buffer->memory + HEADER_BYTES;
    struct expected *expected;
    uint32_t number = 0;
    uint32_t from = 0;

    memcpy(&number, frame, sizeof(number));
    expected = &pools.expected[number % EXPECTED_MAX];
    HOSTILE_CHECK(expected->pending && expected->bytes == bytes,
                  "a frame of %u bytes is none of "
                  "the device's",
                  bytes);
    for (; buffer != NULL; buffer = buffer->rest) {
        const uint8_t *data = from == 0 ? frame : buffer->memory;

        HOSTILE_CHECK(frame_is(data, number, from, buffer->frame_bytes),
                      "a frame is not received as it was");
        from += buffer->frame_bytes;
    }
    HOSTILE_CHECK(device_features(VIRTIO_NET_F_MQ) || number == frame_received,
                  "frame %u received, %u expected", number, frame_received);
    expected->pending = false;
    frame_received = number + 1;
}

/* A frame in pieces, each with a gap behind it that nobody may touch. */
static void lay_out(struct pool_packet *ours, uint8_t *slot, unsigned segments)
{
    uint8_t frame[SLOT_BYTES];
    uint32_t from = 0;
    uint8_t *at = slot + 16;

    frame_fill(frame, ours->number, ours->bytes);
    unpoison(slot, SLOT_BYTES);
    for (unsigned i = 0; i < segments; i++) {
        uint32_t piece = i + 1 == segments ? ours->bytes - from : ours->bytes / segments;

        memcpy(at, frame + from, piece);
        ours->packet.segment[i] = (struct virtio_net_segment){at, piece};
        from += piece;
        at += (piece + SEGMENT_GAP + 15u) & ~15u;
    }
    poison(slot, SLOT_BYTES);
    unpoison(slot + 16 - HEADER_BYTES, HEADER_BYTES);
    for (unsigned i = 0; i < segments; i++) {
        unpoison(ours->packet.segment[i].memory, ours->packet.segment[i].bytes);
    }
}

static struct pool_packet *free_packet(void)
{
    for (unsigned i = 0; i < PACKET_SLOTS; i++) {
        struct pool_packet *ours = &pools.packets[(pools.next_packet + i) % PACKET_SLOTS];

        if (!ours->with_driver) {
            pools.next_packet = (unsigned)(ours - pools.packets) + 1;
            return ours;
        }
    }
    return NULL;
}

struct virtio_net_packet *pool_take_packet(uint32_t bytes, unsigned segments, bool checksum)
{
    struct pool_packet *ours = free_packet();
    unsigned which;

    if (ours == NULL) {
        return NULL;
    }
    which = (unsigned)(ours - pools.packets);
    ours->packet = (struct virtio_net_packet){.owner = ours, .segment_count = (uint16_t)segments};
    ours->packet.checksum_partial = checksum;
    ours->packet.checksum_start = checksum ? 4 : 0;
    ours->packet.checksum_offset = checksum ? 6 : 0;
    ours->number = packet_number++ * PACKET_SLOTS + which;
    ours->bytes = bytes;
    ours->sent = false;
    ours->with_driver = true;
    pools.packets_held++;
    lay_out(ours, memory_packet_slot(which), segments);
    memory_expose_packet(which, SLOT_BYTES);
    return &ours->packet;
}

void pool_hide_packet(const struct virtio_net_packet *packet)
{
    for (unsigned i = 0; i < packet->segment_count; i++) {
        poison(packet->segment[i].memory, packet->segment[i].bytes);
    }
}

bool pool_return_packet(const struct virtio_net_packet *packet)
{
    struct pool_packet *ours = packet->owner;

    HOSTILE_CHECK(ours->with_driver, "a packet comes back twice");
    ours->with_driver = false;
    pools.packets_held--;
    memory_expose_packet((unsigned)(ours - pools.packets), 0);
    return ours->sent;
}

void pool_check_sent(const uint8_t *frame, uint32_t bytes)
{
    struct pool_packet *ours;
    uint32_t number = 0;

    HOSTILE_CHECK(bytes >= HEADER_BYTES + 14, "a frame of %u bytes", bytes);
    memcpy(&number, frame + HEADER_BYTES, sizeof(number));
    ours = &pools.packets[number % PACKET_SLOTS];
    HOSTILE_CHECK(ours->with_driver && ours->number == number && !ours->sent,
                  "the frame sent is none that waits to be");
    HOSTILE_CHECK(bytes == ours->bytes + HEADER_BYTES &&
                      frame_is(frame + HEADER_BYTES, number, 0, ours->bytes),
                  "a frame is not sent as it was");
    HOSTILE_CHECK(frame[0] == (ours->packet.checksum_partial ? 1 : 0) &&
                      frame[6] == ours->packet.checksum_start &&
                      frame[8] == ours->packet.checksum_offset && (frame[10] | frame[11]) == 0,
                  "the header is wrong (5.1.6.2.1)");
    ours->sent = true;
}
