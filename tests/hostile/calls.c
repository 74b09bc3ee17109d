/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner's calls of a running or stopped driver: frames both ways, interrupts, bottom half. */
#include "owner.h"

#define HEADER_BYTES VIRTIO_NET_HEADER_BYTES
#define ROUNDS_MAX   200u
#define FLOOD_ROUNDS 8u

/* Bound on the work of a bottom half, which may also wait for the reset of each queue (2.6.1). */
static struct work bottom_half_limit(void)
{
    struct work limit = call_limit(2);

    if (device_features(VIRTIO_F_RING_RESET)) {
        limit.registers += wait_limit.registers;
        limit.shared += wait_limit.shared;
        limit.all += wait_limit.all;
    }
    return limit;
}

void owner_short_buffers(bool shorter)
{
    owner.short_buffers = shorter;
}

static bool transmit(struct virtio_net_packet *packet)
{
    struct work limit = call_limit(4);
    bool accepted;

    CALL_WITHIN("transmit", limit, accepted = virtio_net_transmit(owner_net(), packet));
    if (accepted) {
        pool_hide_packet(packet);
        owner.pair->sent++;
    } else {
        (void)pool_return_packet(packet);
    }
    return accepted;
}

bool owner_transmit(uint32_t bytes, unsigned segments, bool checksum)
{
    struct virtio_net_packet *packet = pool_take_packet(bytes, segments, checksum);

    return packet != NULL && transmit(packet);
}

/* Returns true if the frame follows the rules of virtio/net.h: 5.1.6.2.1's and the MTU's. */
static bool large_valid(const struct owner_segments *large)
{
    uint32_t limit = virtio_net_mtu(owner_net()) + 14u;

    if (large->type == VIRTIO_NET_GSO_NONE) {
        return large->bytes <= limit;
    }
    return virtio_net_offers_gso(owner_net(), large->type) && large->gso_bytes != 0 &&
           large->header_bytes < large->bytes &&
           (uint32_t)large->header_bytes + large->gso_bytes <= limit;
}

bool owner_transmit_segments(const struct owner_segments *large)
{
    struct virtio_net_packet *packet = pool_take_packet(
        large->bytes, large->pieces,
        (virtio_net_features(owner_net()) & VIRTIO_NET_F_CSUM) != 0 && !large->without_checksum);
    bool accepted;

    if (packet == NULL) {
        return false;
    }
    packet->gso_type = large->type;
    packet->gso_bytes = large->gso_bytes;
    packet->header_bytes = large->header_bytes;
    accepted = transmit(packet);
    HOSTILE_CHECK(!accepted || large_valid(large),
                  "a frame to segment is accepted against the rules");
    return accepted;
}

void owner_flush(void)
{
    CALL("flush", 4, virtio_net_flush(owner_net()));
}

unsigned owner_fetch_packets(unsigned count)
{
    unsigned done = 0;

    while (done < count) {
        struct virtio_net_packet *packet;

        CALL("transmitted", 4, packet = virtio_net_transmitted(owner_net()));
        if (packet == NULL) {
            break;
        }
        HOSTILE_CHECK(pool_return_packet(packet) || !owner.interruptible || !device_strict(),
                      "a packet comes back that was never sent");
        owner.pair->fetched++;
        done++;
    }
    return done;
}

/* Takes a received frame: the owner holds each of its buffers again, and reads the memory that the
 * device may have written. */
static void take_frame(struct virtio_net_buffer *frame)
{
    uint32_t total = 0;
    unsigned buffers = 0;

    for (struct virtio_net_buffer *each = frame; each != NULL; each = each->rest) {
        uint32_t header = each == frame ? HEADER_BYTES : 0;

        HOSTILE_CHECK(each->frame_bytes >= (each == frame ? 14 : 1) &&
                          each->frame_bytes <= each->capacity - header,
                      "a frame of %u bytes in a buffer of %u", each->frame_bytes, each->capacity);
        pool_return_buffer(each);
        owner.pair->returned++;
        total += each->frame_bytes;
        buffers++;
    }
    HOSTILE_CHECK(buffers == frame->buffers, "%u buffers, but the driver reports %u", buffers,
                  frame->buffers);
    HOSTILE_CHECK(frame->checksum != VIRTIO_NET_CHECKSUM_PARTIAL ||
                      (uint32_t)frame->checksum_start + frame->checksum_offset + 2u <= total,
                  "a checksum at %u + %u in a frame of %u bytes", frame->checksum_start,
                  frame->checksum_offset, total);
    owner.last = (struct frame_seen){total, frame->checksum};
    owner.frames_received++;
    if (device_strict()) {
        pool_check_frame(frame, total);
    }
}

unsigned owner_fetch_frames(unsigned count)
{
    unsigned done = 0;

    while (done < count) {
        struct virtio_net_buffer *buffer;

        CALL("receive", 1, buffer = virtio_net_receive(owner_net()));
        if (buffer == NULL) {
            break;
        }
        take_frame(buffer);
        done++;
    }
    return done;
}

void owner_look_at_link(void)
{
    bool changed;

    CALL("link_changed", 1, changed = virtio_net_link_changed(owner_net()));
    if (changed) {
        struct driver_call outer = snare_enter("link_up", &wait_limit);

        (void)virtio_net_link_up(owner_net());
        snare_leave(&outer);
    }
}

void owner_bottom_half(bool whole)
{
    bool more = false;
    unsigned rounds = 0;

    owner.pair->signalled = false;
    do {
        if (whole) {
            (void)owner_fetch_frames(ROUNDS_MAX);
            (void)owner_fetch_packets(ROUNDS_MAX);
            owner_look_at_link();
        }
        CALL_WITHIN("bottom_half", bottom_half_limit(), more = virtio_net_bottom_half(owner_net()));
        rounds++;
    } while (whole && more && rounds < ROUNDS_MAX);
    HOSTILE_CHECK(!whole || !more || device.lies != 0 || snare_any(),
                  "the bottom half does not end");
    /* A thread that gives up before the driver is done has to run the bottom half again. */
    owner.pair->signalled |= more;
}

void owner_poll(void)
{
    CALL("poll", 2, (void)virtio_net_poll(owner_net()));
}

void owner_refill(void)
{
    CALL("refill", 1, virtio_net_refill(owner_net()));
}

/* Returns the driver that a vector interrupts (virtio/net.h): two pairs have vectors of their own,
 * but their queues do not. */
static struct virtio_net *interrupted(unsigned vector)
{
    return owner.pairs[1].net != NULL && owner.vectors > PAIRS && vector > 1 ? owner.pairs[1].net
                                                                             : owner.pairs[0].net;
}

void owner_interrupt(unsigned vector)
{
    if (!owner_interruptible()) {
        return;
    }
    owner.in_handler = true;
    if (owner.vectors >= 2 && vector == 0) {
        CALL("configuration_interrupt", 1,
             (void)virtio_net_configuration_interrupt(owner.pairs[0].net));
    } else {
        CALL("interrupt", PAIRS, (void)virtio_net_interrupt(interrupted(vector)));
    }
    owner.in_handler = false;
}

void owner_interrupts(void)
{
    for (unsigned vector = 0; vector < VECTORS && owner_interruptible(); vector++) {
        if (device.raised[vector]) {
            device.raised[vector] = false;
            owner_interrupt(vector);
        }
    }
}

static void attend(void)
{
    if (owner.pair->signalled) {
        owner_bottom_half(true);
    }
}

void owner_settle(void)
{
    /* A device that acts at each access of the driver always has more work. */
    for (unsigned rounds = 0; rounds < (snare_any() ? FLOOD_ROUNDS : ROUNDS_MAX); rounds++) {
        bool signalled = false;

        owner_interrupts();
        for (unsigned i = 0; i < PAIRS; i++) {
            signalled |= owner.pairs[i].net != NULL && owner.pairs[i].signalled;
        }
        if (!signalled) {
            return;
        }
        owner_for_pairs(attend);
    }
    HOSTILE_CHECK(device.lies != 0 || snare_any(), "interrupts without end");
}

void owner_look(void)
{
    bool full;

    CALL_WITHIN("speed", wait_limit, (void)virtio_net_speed(owner_net(), &full));
    CALL("watch", 1, virtio_net_watch(owner_net()));
    HOSTILE_CHECK(virtio_net_segments_max(owner_net()) <= VIRTIO_NET_FRAME_SEGMENTS_MAX,
                  "pieces without end");
}
