/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's owner in the unit tests. */
#include "owner.h"
#include "net_balance.h"
#include <stdlib.h>
#include <string.h>

#define HEADER VIRTIO_NET_HEADER_BYTES

/* The first four bytes of a frame are its number, from which the others are computed. */
static uint8_t pattern(uint32_t number, uint32_t position)
{
    return (uint8_t)(position < 4 ? number >> (8 * position) : number * 37u + position * 11u + 1u);
}

static void fill(uint8_t *memory, uint32_t number, uint32_t from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        memory[i] = pattern(number, from + i);
    }
}

static void check(const uint8_t *frame, uint32_t number, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        if (frame[i] != pattern(number, i)) {
            fail_msg("frame %u differs at byte %u", number, i);
        }
    }
}

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct owner *owner = context;

    assert_int_equal(fake_lock_depth, 1);
    for (unsigned i = 0; i < owner->buffers_usable; i++) {
        struct owner_buffer *buffer = &owner->buffers[i];

        if (!buffer->with_driver) {
            if (buffer->buffer.memory == NULL) {
                buffer->buffer.memory = malloc(owner->buffer_capacity);
                buffer->buffer.capacity = owner->buffer_capacity;
            }
            buffer->with_driver = true;
            buffer->buffer.frame_bytes = 0xffffffff;
            return &buffer->buffer;
        }
    }
    return NULL;
}

void owner_take_back(struct virtio_net_buffer *buffer)
{
    struct owner_buffer *ours = (struct owner_buffer *)buffer;

    assert_true(ours->with_driver);
    ours->with_driver = false;
    memset(buffer->memory, 0xee, buffer->capacity);
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    assert_int_equal(fake_lock_depth, 1);
    owner_take_back(buffer);
}

static void signal_bottom_half(void *context)
{
    struct owner *owner = context;

    assert_int_equal(fake_lock_depth, 0);
    owner->signalled = true;
    owner->signals++;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_bottom_half,
};

/* Returns the number of packets that were ever used, the one being filled included. */
static unsigned packets_used(const struct owner *owner)
{
    return owner->sent < OWNER_PACKETS ? owner->sent + 1 : OWNER_PACKETS;
}

void owner_prepare(struct owner *owner, enum fake_bus bus, uint16_t vectors)
{
    /* Packets are many, and most tests use few. */
    memset(owner->packets, 0, packets_used(owner) * sizeof(owner->packets[0]));
    memset(owner, 0, offsetof(struct owner, packets));
    owner->buffers_usable = OWNER_BUFFERS;
    owner->buffer_capacity = VIRTIO_NET_RECEIVE_BYTES;
    fake_reset_device(&owner->device, bus, vectors);
    /* A failed test may have left other values. */
    fake_lock_depth = 0;
    fake_allocations = 0;
    fake_on_unlock = NULL;
}

const char *owner_try_start(struct owner *owner)
{
    const char *reason = NULL;

    owner->transport = fake_probe(&owner->mmio, &owner->pci);
    owner->net =
        virtio_net_create(owner->transport, &owner->parameters, &operations, owner, &reason);
    assert_true((owner->net == NULL) == (reason != NULL) || owner->net != NULL);
    return owner->net == NULL ? reason : NULL;
}

void owner_start(struct owner *owner)
{
    const char *reason = owner_try_start(owner);

    if (reason != NULL) {
        fail_msg("create: %s", reason);
    }
}

void owner_start_with(struct owner *owner, enum fake_bus bus, uint16_t vectors,
                      uint64_t features_off, uint16_t tx_ring)
{
    owner_prepare(owner, bus, vectors);
    owner->parameters.features_off = features_off;
    owner->parameters.tx_ring = tx_ring;
    owner_start(owner);
    fake_ask_notification(0);
    fake_ask_notification(1);
}

struct owner_packet *owner_packet(struct owner *owner, uint32_t bytes, unsigned segments)
{
    struct owner_packet *ours = &owner->packets[owner->sent % OWNER_PACKETS];
    uint32_t from = 0;

    assert_false(ours->with_driver);
    ours->packet = (struct virtio_net_packet){.owner = ours, .segment_count = (uint16_t)segments};
    ours->number = owner->sent;
    ours->bytes = bytes;
    for (unsigned i = 0; i < VIRTIO_NET_SEGMENTS_MAX; i++) {
        free(ours->memory[i]);
        ours->memory[i] = NULL;
    }
    for (unsigned i = 0; i < segments; i++) {
        uint32_t headroom = i == 0 ? HEADER : 0;
        uint32_t piece = i + 1 == segments ? bytes - from : bytes / segments;

        /* The exact size lets a sanitizer report every byte too many. */
        ours->memory[i] = malloc(headroom + piece);
        memset(ours->memory[i], 0xcc, headroom);
        fill(ours->memory[i] + headroom, ours->number, from, piece);
        ours->packet.segment[i].memory = ours->memory[i] + headroom;
        ours->packet.segment[i].bytes = piece;
        from += piece;
    }
    return ours;
}

bool owner_send(struct owner *owner, uint32_t bytes, unsigned segments, bool checksum)
{
    struct owner_packet *ours = owner_packet(owner, bytes, segments);

    if (checksum) {
        ours->packet.checksum_partial = true;
        ours->packet.checksum_start = (uint16_t)(ours->number % 8);
        ours->packet.checksum_offset = 4;
    }
    ours->with_driver = true;
    if (!virtio_net_transmit(owner->net, &ours->packet)) {
        ours->with_driver = false;
        return false;
    }
    owner->sent++;
    return true;
}

bool owner_fetch_packet(struct owner *owner)
{
    struct virtio_net_packet *packet = virtio_net_transmitted(owner->net);
    struct owner_packet *ours;

    if (packet == NULL) {
        return false;
    }
    ours = packet->owner;
    assert_true(ours->with_driver);
    assert_null(packet->next);
    ours->with_driver = false;
    owner->returned++;
    /* A device that still reads the memory now does not send what was given to it. */
    for (unsigned i = 0; i < packet->segment_count; i++) {
        free(ours->memory[i]);
        ours->memory[i] = NULL;
    }
    return true;
}

void owner_fetch_packets(struct owner *owner)
{
    while (owner_fetch_packet(owner)) {
    }
}

void owner_fetch_frames(struct owner *owner)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = virtio_net_receive(owner->net)) != NULL) {
        assert_null(buffer->next);
        assert_true(buffer->frame_bytes >= 14 && buffer->frame_bytes <= buffer->capacity - HEADER);
        check(buffer->memory + HEADER, owner->received, buffer->frame_bytes);
        owner->received++;
        owner->checksum = buffer->checksum;
        owner->checksum_start = buffer->checksum_start;
        owner->checksum_offset = buffer->checksum_offset;
        owner->frame_bytes = buffer->frame_bytes;
        owner_take_back(buffer);
    }
}

void owner_bottom_half(struct owner *owner)
{
    unsigned rounds = 0;

    owner->signalled = false;
    do {
        assert_true(rounds++ < 100000);
        owner_fetch_frames(owner);
        owner_fetch_packets(owner);
        if (virtio_net_link_changed(owner->net)) {
            owner->link_changes++;
        }
    } while (virtio_net_bottom_half(owner->net));
}

void owner_interrupts(struct owner *owner)
{
    for (unsigned rounds = 0; fake_raised(); rounds++) {
        uint64_t signals = owner->signals;

        assert_true(rounds < 1000);
        if (owner->device.line) {
            virtio_net_interrupt(owner->net);
        } else {
            for (unsigned vector = 0; vector < 8; vector++) {
                if (owner->device.raised[vector]) {
                    owner->device.raised[vector] = false;
                    if (vector == 0 && owner->transport->vectors > 1) {
                        virtio_net_configuration_interrupt(owner->net);
                    } else {
                        virtio_net_interrupt(owner->net);
                    }
                    break;
                }
            }
        }
        if (owner->signals - signals > owner->signals_in_handler_max) {
            owner->signals_in_handler_max = owner->signals - signals;
        }
    }
}

void owner_move(struct owner *owner)
{
    (void)virtio_net_interrupt(owner->net);
    if (fake_pool != NULL) {
        (void)virtio_net_bottom_half(owner->net);
    }
}

void owner_settle(struct owner *owner)
{
    for (unsigned rounds = 0; fake_raised() || owner->signalled; rounds++) {
        assert_true(rounds < 1000);
        owner_interrupts(owner);
        if (owner->signalled) {
            owner_bottom_half(owner);
        }
    }
}

struct virtio_net_statistics owner_statistics(struct owner *owner)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(owner->net, &statistics);
    return statistics;
}

void owner_check_balance(struct owner *owner)
{
    struct virtio_net_statistics s = owner_statistics(owner);
    unsigned buffers = 0;
    unsigned packets = 0;

    for (unsigned i = 0; i < OWNER_BUFFERS; i++) {
        buffers += owner->buffers[i].with_driver;
    }
    for (unsigned i = 0; i < packets_used(owner); i++) {
        packets += owner->packets[i].with_driver;
    }
    net_check_balance(&s, buffers, packets);
    assert_int_equal(s.tx_accepted, owner->sent);
    assert_int_equal(s.tx_returned, owner->returned);
    assert_int_equal(s.signals, owner->signals);
}

bool owner_stop(struct owner *owner)
{
    bool stopped = virtio_net_stop(owner->net);

    owner_fetch_packets(owner);
    assert_null(virtio_net_receive(owner->net));
    owner_check_balance(owner);
    return stopped;
}

void owner_release(struct owner *owner)
{
    for (unsigned i = 0; i < OWNER_BUFFERS; i++) {
        free(owner->buffers[i].buffer.memory);
        owner->buffers[i].buffer.memory = NULL;
    }
    for (unsigned i = 0; i < packets_used(owner); i++) {
        for (unsigned j = 0; j < VIRTIO_NET_SEGMENTS_MAX; j++) {
            if (owner->packets[i].memory[j] != NULL) {
                free(owner->packets[i].memory[j]);
                owner->packets[i].memory[j] = NULL;
            }
        }
    }
    assert_int_equal(fake_lock_depth, 0);
    assert_int_equal(fake_allocations, 0);
}

void owner_finish(struct owner *owner)
{
    struct virtio_net_statistics s;

    assert_true(owner_stop(owner));
    s = owner_statistics(owner);
    net_check_all_returned(&s);
    assert_int_equal(s.rx_exposed, 0);
    assert_int_equal(s.tx_in_flight, 0);
    virtio_net_free(owner->net);
    owner->net = NULL;
    owner_release(owner);
}

bool owner_inject(struct owner *owner, uint32_t bytes)
{
    uint8_t frame[2048];

    fill(frame, owner->injected, 0, bytes);
    if (!fake_receive(frame, bytes, 0)) {
        return false;
    }
    owner->injected++;
    return true;
}

bool owner_device_take(struct owner *owner, struct ring_chain *chain)
{
    uint8_t frame[4096];
    uint32_t bytes = fake_transmit(frame, sizeof(frame), false, chain);
    const struct owner_packet *ours;

    if (bytes == 0) {
        return false;
    }
    ours = &owner->packets[owner->sent_by_device % OWNER_PACKETS];
    assert_true(ours->with_driver && ours->number == owner->sent_by_device);
    assert_int_equal(bytes, ours->bytes + HEADER);
    check(frame + HEADER, ours->number, ours->bytes);
    /* 5.1.6.2: flags and checksum fields as requested; all other fields are zero, num_buffers
     * too. */
    assert_int_equal(frame[0], ours->packet.checksum_partial ? 1 : 0);
    assert_int_equal(frame[6] | (frame[7] << 8), ours->packet.checksum_start);
    assert_int_equal(frame[8] | (frame[9] << 8), ours->packet.checksum_offset);
    assert_int_equal(frame[1] | frame[2] | frame[3] | frame[4] | frame[5] | frame[10] | frame[11],
                     0);
    owner->sent_by_device++;
    return true;
}

unsigned owner_device_send(struct owner *owner, unsigned limit)
{
    struct ring_chain chain;
    unsigned count = 0;

    while (count < limit && owner_device_take(owner, &chain)) {
        fake_complete(1, &chain, 0);
        count++;
    }
    fake_ask_notification(1);
    return count;
}
