/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The owner's pools of buffers and packets, each of which has one holder. While the driver or the
 * device holds it, it is poisoned for AddressSanitizer, except its header, which belongs to the
 * driver. Each frame carries a number and a pattern computed from the number.
 */
#include "hostile.h"
#include <string.h>

#define HEADER_BYTES VIRTIO_NET_HEADER_BYTES
#define EXPECTED_MAX 1024u
#define SEGMENT_GAP  32u
#define PIECE_BYTES  1800u /* bytes of a frame in one packet, in all segments together */

/* Functions of AddressSanitizer, NULL without it. */
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
    struct pool_packet *rest; /* value of packet.rest when the driver got the packet */
    bool with_driver;
    bool sent; /* the device has read it */
    uint32_t number;
    uint32_t bytes; /* length of the frame, in its first packet */
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
    unsigned buffers_held; /* number of buffers that the driver holds */
    unsigned packets_held;
    unsigned next_buffer;
    unsigned next_packet;
};

static struct pools pools;
static uint8_t frame_memory[VIRTIO_NET_GSO_FRAME_MAX + 16];
static uint32_t packet_number;
static uint32_t frame_number;   /* number of the next frame to the driver */
static uint32_t frame_received; /* number of the next frame from the driver */

void pool_clear(void)
{
    memset(&pools, 0, sizeof(pools));
    pools.buffers_usable = BUFFER_SLOTS;
    for (unsigned i = 0; i < PACKET_SLOTS && !memory_has_pool; i++) {
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

void pool_take_back(void)
{
    for (unsigned i = 0; i < BUFFER_SLOTS; i++) {
        if (pools.buffers[i].with_driver) {
            pool_return_buffer(&pools.buffers[i].buffer);
        }
    }
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
            /* With a pool the driver copies frames. */
            unpoison(ours->buffer.memory, memory_has_pool ? capacity : HEADER_BYTES);
            return &ours->buffer;
        }
    }
    return NULL;
}

void pool_return_buffer(const struct virtio_net_buffer *buffer)
{
    struct pool_buffer *ours = (struct pool_buffer *)(uintptr_t)buffer;
    unsigned which = (unsigned)(ours - pools.buffers);

    HOSTILE_CHECK(which < BUFFER_SLOTS && ours->with_driver, "a buffer is returned twice");
    HOSTILE_CHECK(buffer->memory == memory_buffer_slot(which), "a buffer's memory changed");
    ours->with_driver = false;
    pools.buffers_held--;
    memory_expose_buffer(which, 0);
    unpoison(buffer->memory, buffer->capacity);
}

/* Checks that frames arrive complete and in the order in which the device wrote them. */
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
                      "a received frame has changed");
        from += buffer->frame_bytes;
    }
    HOSTILE_CHECK(device_features(VIRTIO_NET_F_MQ) || number == frame_received,
                  "frame %u received, %u expected", number, frame_received);
    expected->pending = false;
    frame_received = number + 1;
}

/* Stores a frame, or a part of it, in pieces. Behind each piece is a gap that nobody may access. */
static void lay_out(struct pool_packet *ours, const uint8_t *frame, uint32_t bytes,
                    unsigned segments)
{
    uint8_t *slot = memory_packet_slot((unsigned)(ours - pools.packets));
    uint32_t from = 0;
    uint8_t *at = slot + 16;

    segments = bytes < segments ? 1 : segments;
    ours->packet.segment_count = (uint16_t)segments;
    unpoison(slot, SLOT_BYTES);
    for (unsigned i = 0; i < segments; i++) {
        uint32_t piece = i + 1 == segments ? bytes - from : bytes / segments;

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

/* Takes a further packet of a frame. The driver reads nothing in it but its segments and `rest`. */
static struct pool_packet *take_packet(void)
{
    struct pool_packet *ours = free_packet();

    if (ours != NULL) {
        ours->packet = (struct virtio_net_packet){.owner = ours};
        ours->rest = NULL;
        ours->sent = false;
        ours->with_driver = true;
        pools.packets_held++;
        memory_expose_packet((unsigned)(ours - pools.packets), SLOT_BYTES);
    }
    return ours;
}

struct virtio_net_packet *pool_take_packet(uint32_t bytes, unsigned segments, bool checksum)
{
    struct pool_packet *first = take_packet();
    struct pool_packet *last = first;
    uint32_t piece = bytes <= PIECE_BYTES ? bytes : PIECE_BYTES;

    if (first == NULL) {
        return NULL;
    }
    first->packet.checksum_partial = checksum;
    first->packet.checksum_start = checksum ? 4 : 0;
    first->packet.checksum_offset = checksum ? 6 : 0;
    first->number = packet_number++ * PACKET_SLOTS + (uint32_t)(first - pools.packets);
    first->bytes = bytes;
    frame_fill(frame_memory, first->number, bytes);
    lay_out(first, frame_memory, piece, segments);
    for (uint32_t from = piece; from < bytes; from += piece) {
        last->rest = take_packet();
        if (last->rest == NULL) {
            (void)pool_return_packet(&first->packet);
            return NULL;
        }
        last->packet.rest = &last->rest->packet;
        last = last->rest;
        piece = bytes - from < PIECE_BYTES ? bytes - from : PIECE_BYTES;
        lay_out(last, frame_memory + from, piece, segments);
    }
    return &first->packet;
}

void pool_hide_packet(const struct virtio_net_packet *packet)
{
    for (; packet != NULL && !memory_has_pool; packet = packet->rest) {
        for (unsigned i = 0; i < packet->segment_count; i++) {
            poison(packet->segment[i].memory, packet->segment[i].bytes);
        }
    }
}

bool pool_return_packet(const struct virtio_net_packet *packet)
{
    struct pool_packet *first = packet->owner;
    bool sent = first->sent;

    for (struct pool_packet *ours = first; ours != NULL; ours = ours->rest) {
        HOSTILE_CHECK(ours->with_driver, "a packet is returned twice");
        HOSTILE_CHECK(ours->packet.rest == (ours->rest != NULL ? &ours->rest->packet : NULL),
                      "a frame is returned in pieces");
        ours->with_driver = false;
        pools.packets_held--;
        memory_expose_packet((unsigned)(ours - pools.packets), 0);
    }
    return sent;
}

/* Checks the header of a sent frame (5.1.6.2.1). */
static void check_header(const uint8_t *header, const struct virtio_net_packet *packet)
{
    bool cut = packet->gso_type != VIRTIO_NET_GSO_NONE;
    const uint16_t expected[] = {
        (uint16_t)((packet->checksum_partial ? 1u : 0u) | (unsigned)packet->gso_type << 8),
        cut ? packet->header_bytes : 0,
        cut ? packet->gso_bytes : 0,
        packet->checksum_start,
        packet->checksum_offset,
        0,
    };

    HOSTILE_CHECK(memcmp(header, expected, traffic_header_bytes()) == 0,
                  "the header is wrong (5.1.6.2.1)");
    HOSTILE_CHECK(
        packet->gso_type == VIRTIO_NET_GSO_NONE ||
            (packet->checksum_partial && packet->gso_bytes != 0 &&
             device_features(packet->gso_type == VIRTIO_NET_GSO_TCPV4 ? VIRTIO_NET_F_HOST_TSO4
                                                                      : VIRTIO_NET_F_HOST_TSO6)),
        "a segmentation type that was not negotiated (5.1.6.2.1)");
}

void pool_check_sent(const uint8_t *frame, uint32_t bytes)
{
    uint32_t header = traffic_header_bytes();
    struct pool_packet *ours;
    uint32_t number = 0;

    HOSTILE_CHECK(bytes >= header + 14, "a frame of %u bytes", bytes);
    memcpy(&number, frame + header, sizeof(number));
    ours = &pools.packets[number % PACKET_SLOTS];
    HOSTILE_CHECK(ours->with_driver && ours->number == number && !ours->sent,
                  "the sent frame is not one that waits");
    HOSTILE_CHECK(bytes == ours->bytes + header && frame_is(frame + header, number, 0, ours->bytes),
                  "a sent frame has changed");
    check_header(frame, &ours->packet);
    ours->sent = true;
}
