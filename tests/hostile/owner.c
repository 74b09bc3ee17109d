/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's owner: an application that keeps the rules of virtio/net.h, and checks that the
 * driver does. */
#include "hostile.h"
#include <string.h>

#define HEADER_BYTES VIRTIO_NET_HEADER_BYTES
#define ROUNDS_MAX   200u
#define SHORT_BUFFER 64u

struct owner {
    struct virtio_mmio mmio;
    struct virtio_pci pci;
    struct virtio_transport *transport;
    struct virtio_net *net;
    bool interruptible;
    bool in_handler;
    bool signalled;
    bool short_buffers;
    uint16_t vectors;
    uint16_t budget;
    uint16_t target;
    uint32_t capacity;
    uint64_t sent; /* since the driver was created, as the next three */
    uint64_t fetched;
    uint64_t signals;
    uint64_t taken;
    unsigned frames_received;
    struct frame_seen last;
};

static struct owner owner;

/*
 * Bounds on the work of one call, whatever the device says: for each descriptor the driver may move
 * a chain of the greatest length, and as much again for each buffer it may expose. A start or stop
 * may wait for a reset for a second, a thousand times.
 */
static struct work call_limit(unsigned rounds)
{
    uint64_t moved = (uint64_t)rounds * (owner.budget + owner.target + 16u);

    return (struct work){
        .registers = 8u + 4u * rounds, .shared = 64 + moved * 64, .all = 4096 + moved * 1024};
}

static const struct work start_limit = {.registers = 20000, .shared = 20000, .all = 2000000};

/* The bottom half may also wait for the reset of each queue (2.6.1). */
static struct work bottom_half_limit(void)
{
    struct work limit = call_limit(2);

    if (device_features(VIRTIO_F_RING_RESET)) {
        limit.registers += start_limit.registers;
        limit.shared += start_limit.shared;
        limit.all += start_limit.all;
    }
    return limit;
}

#define CALL(name, rounds, statement) CALL_WITHIN(name, call_limit(rounds), statement)

#define CALL_WITHIN(name, limit, statement)                     \
    do {                                                        \
        struct work limit_ = limit;                             \
        struct driver_call outer_ = snare_enter(name, &limit_); \
                                                                \
        statement;                                              \
        snare_leave(&outer_);                                   \
    } while (0)

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct virtio_net_buffer *buffer;

    HOSTILE_CHECK(context == &owner && platform_locked == 1, "receive_buffer(): context");
    buffer = pool_take_buffer(owner.short_buffers ? SHORT_BUFFER : owner.capacity);
    owner.taken += buffer != NULL;
    return buffer;
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    HOSTILE_CHECK(context == &owner && platform_locked == 1, "return_buffer(): context");
    pool_return_buffer(buffer);
}

static void signal_bottom_half(void *context)
{
    HOSTILE_CHECK(context == &owner && platform_locked == 0, "signal(): context");
    owner.signalled = true;
    owner.signals++;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_bottom_half,
};

void owner_power_on(void)
{
    memset(&owner, 0, sizeof(owner));
    pool_clear();
}

struct virtio_net *owner_net(void)
{
    return owner.net;
}

bool owner_interruptible(void)
{
    return owner.net != NULL && owner.interruptible && !owner.in_handler;
}

static struct virtio_transport *probe(const char **reason)
{
    struct virtio_pci_function *function = (struct virtio_pci_function *)&device;

    device.windows = 0;
    if (device.bus == BUS_MMIO) {
        return virtio_mmio_probe(&owner.mmio, MMIO_BASE, MMIO_BYTES, reason) ? &owner.mmio.transport
                                                                             : NULL;
    }
    return virtio_pci_probe(&owner.pci, function, owner.vectors, reason) ? &owner.pci.transport
                                                                         : NULL;
}

static void create(const struct virtio_net_parameters *parameters, const char **reason)
{
    struct driver_call outer = snare_enter("create", &start_limit);

    owner.transport = probe(reason);
    if (owner.transport != NULL) {
        owner.net = virtio_net_create(owner.transport, parameters, &operations, &owner, reason);
        HOSTILE_CHECK(owner.net != NULL || *reason != NULL, "a failure without a reason");
    }
    snare_leave(&outer);
}

static uint16_t or_default(uint16_t value, uint16_t standard)
{
    return value != 0 ? value : standard;
}

const char *owner_create(const struct virtio_net_parameters *parameters, uint32_t capacity)
{
    const char *reason = NULL;

    HOSTILE_CHECK(owner.net == NULL, "two drivers for one device");
    owner.vectors = device.line ? 0 : device.vectors_granted < VECTORS ? device.vectors_granted : 3;
    owner.budget = or_default(parameters->interrupt_budget, 64);
    owner.target = or_default(parameters->rx_buffers, 8);
    owner.target =
        parameters->rx_buffers_max > owner.target ? parameters->rx_buffers_max : owner.target;
    owner.capacity = capacity;
    owner.sent = 0;
    owner.fetched = 0;
    owner.signals = 0;
    owner.taken = 0;
    owner.signalled = true; /* "It runs this once, unasked" */
    pool_forget_expected();
    create(parameters, &reason);
    if (owner.net == NULL) {
        HOSTILE_CHECK(!device_let_go() || (platform_allocations() == 0 && pool_buffers_held() == 0),
                      "a driver that could not start keeps memory");
        platform_free_lost(); /* nobody may touch it any more, except the device */
        return reason != NULL ? reason : "no device";
    }
    owner.interruptible = true;
    owner_getters();
    return NULL;
}

bool owner_stop(void)
{
    struct driver_call outer = snare_enter("stop", &start_limit);
    bool stopped;

    owner.interruptible = false;
    stopped = virtio_net_stop(owner.net);
    snare_leave(&outer);
    (void)owner_fetch_packets(UINT32_MAX);
    owner_check();
    HOSTILE_CHECK(!stopped || (pool_buffers_held() == 0 && pool_packets_held() == 0),
                  "stopped with %u buffers and %u packets missing", pool_buffers_held(),
                  pool_packets_held());
    HOSTILE_CHECK(stopped || !device_let_go(), "the reset was confirmed, and not believed");
    return stopped;
}

bool owner_destroy(void)
{
    struct driver_call outer;
    unsigned lost = platform_allocations();

    if (!owner_stop()) {
        return false;
    }
    outer = snare_enter("free", &start_limit);
    virtio_net_free(owner.net);
    snare_leave(&outer);
    owner.net = NULL;
    HOSTILE_CHECK(platform_allocations() < lost, "freed nothing");
    return true;
}

void owner_short_buffers(bool shorter)
{
    owner.short_buffers = shorter;
}

bool owner_transmit(uint32_t bytes, unsigned segments, bool checksum)
{
    struct virtio_net_packet *packet = pool_take_packet(bytes, segments, checksum);
    bool accepted;

    if (packet == NULL) {
        return false;
    }
    CALL("transmit", 4, accepted = virtio_net_transmit(owner.net, packet));
    if (accepted) {
        pool_hide_packet(packet);
        owner.sent++;
    } else {
        (void)pool_return_packet(packet);
    }
    return accepted;
}

void owner_flush(void)
{
    CALL("flush", 4, virtio_net_flush(owner.net));
}

unsigned owner_fetch_packets(unsigned count)
{
    unsigned done = 0;

    while (done < count) {
        struct virtio_net_packet *packet;

        CALL("transmitted", 4, packet = virtio_net_transmitted(owner.net));
        if (packet == NULL) {
            break;
        }
        HOSTILE_CHECK(pool_return_packet(packet) || !owner.interruptible || !device_strict(),
                      "a packet comes back that was never sent");
        owner.fetched++;
        done++;
    }
    return done;
}

/* Each of the frame's buffers is the owner's again, with what the device can have written there. */
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
        total += each->frame_bytes;
        buffers++;
    }
    HOSTILE_CHECK(buffers == frame->buffers, "%u buffers said to be %u", buffers, frame->buffers);
    owner.last = (struct frame_seen){total, frame->checksum_valid};
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

        CALL("receive", 1, buffer = virtio_net_receive(owner.net));
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

    CALL("link_changed", 1, changed = virtio_net_link_changed(owner.net));
    if (changed) {
        struct driver_call outer = snare_enter("link_up", &start_limit);

        (void)virtio_net_link_up(owner.net);
        snare_leave(&outer);
    }
}

void owner_bottom_half(bool whole)
{
    bool more = false;
    unsigned rounds = 0;

    owner.signalled = false;
    do {
        if (whole) {
            (void)owner_fetch_frames(ROUNDS_MAX);
            (void)owner_fetch_packets(ROUNDS_MAX);
            owner_look_at_link();
        }
        CALL_WITHIN("bottom_half", bottom_half_limit(), more = virtio_net_bottom_half(owner.net));
        rounds++;
    } while (whole && more && rounds < ROUNDS_MAX);
    HOSTILE_CHECK(!whole || !more || device.lies != 0 || snare_any(),
                  "the bottom half finds no end");
    /* A thread that gives up before the driver is done owes it another round. */
    owner.signalled |= more;
}

void owner_poll(void)
{
    CALL("poll", 2, (void)virtio_net_poll(owner.net));
}

void owner_refill(void)
{
    CALL("refill", 1, virtio_net_refill(owner.net));
}

void owner_interrupt(unsigned vector)
{
    if (!owner_interruptible()) {
        return;
    }
    owner.in_handler = true;
    if (owner.vectors >= 2 && vector == 0) {
        CALL("configuration_interrupt", 1, virtio_net_configuration_interrupt(owner.net));
    } else {
        CALL("interrupt", 1, virtio_net_interrupt(owner.net));
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

void owner_settle(void)
{
    for (unsigned rounds = 0; rounds < ROUNDS_MAX; rounds++) {
        owner_interrupts();
        if (!owner.signalled) {
            return;
        }
        owner_bottom_half(true);
    }
    HOSTILE_CHECK(device.lies != 0 || snare_any(), "interrupts without end");
}

void owner_getters(void)
{
    uint8_t mac[6];

    (void)virtio_net_mac(owner.net, mac);
    (void)virtio_net_offers_checksum(owner.net);
    HOSTILE_CHECK((virtio_net_features(owner.net) & VIRTIO_F_VERSION_1) != 0, "features");
    HOSTILE_CHECK(virtio_net_mtu(owner.net) >= 68 &&
                      virtio_net_mtu(owner.net) + 26u <= owner.capacity,
                  "an MTU of %u", virtio_net_mtu(owner.net));
}

void owner_check(void)
{
    struct virtio_net_statistics s;

    HOSTILE_CHECK(platform_locked == 0, "the lock is still held");
    if (owner.net == NULL) {
        return;
    }
    virtio_net_statistics(owner.net, &s);
    HOSTILE_CHECK(s.rx_buffers_taken == s.rx_buffers_returned + s.rx_exposed + s.rx_queued &&
                      s.rx_buffers_taken == owner.taken &&
                      s.rx_buffers_taken - s.rx_buffers_returned == pool_buffers_held(),
                  "receive buffers: %llu taken, %llu returned, %llu exposed, %llu queued; %u held",
                  (unsigned long long)s.rx_buffers_taken, (unsigned long long)s.rx_buffers_returned,
                  (unsigned long long)s.rx_exposed, (unsigned long long)s.rx_queued,
                  pool_buffers_held());
    HOSTILE_CHECK(s.tx_accepted == s.tx_returned + s.tx_in_flight + s.tx_queued + s.tx_finished &&
                      s.tx_accepted == owner.sent && s.tx_returned == owner.fetched,
                  "packets: %llu accepted, %llu returned, %llu at the device, %llu queued, %llu "
                  "finished",
                  (unsigned long long)s.tx_accepted, (unsigned long long)s.tx_returned,
                  (unsigned long long)s.tx_in_flight, (unsigned long long)s.tx_queued,
                  (unsigned long long)s.tx_finished);
    HOSTILE_CHECK(s.signals == owner.signals, "signals");
    HOSTILE_CHECK(s.descriptors_moved_max <= owner.budget && s.rx_exposed <= owner.target,
                  "%llu descriptors moved, %llu exposed",
                  (unsigned long long)s.descriptors_moved_max, (unsigned long long)s.rx_exposed);
    HOSTILE_CHECK(virtio_net_broken(owner.net) == NULL || device.lies != 0,
                  "an honest device is called broken: %s", virtio_net_broken(owner.net));
}

unsigned owner_frames_received(void)
{
    return owner.frames_received;
}

struct frame_seen owner_last_frame(void)
{
    return owner.last;
}
