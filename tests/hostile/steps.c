/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of a program: their names, and functions for their operands a, b, c. */
#include "steps.h"
#include <limits.h>

#define CONFIG_MTU 10u /* 5.1.4 */

/* Returns a queue size. Queues for commands, and queues that hold headers in descriptors of their
 * own, have entries for them. Sizes of legacy PCI devices are powers of two, because the driver
 * can't choose them (4.1.5.1.3.1). */
static uint16_t queue_size(unsigned index)
{
    uint16_t size = settings.queue_size_max;

    if (size < 4 && (settings.legacy || index > 1)) {
        size = 4;
    }
    while (settings.legacy && settings.bus == BUS_PCI && (size & (size - 1)) != 0) {
        size &= (uint16_t)(size - 1);
    }
    return size;
}

void step_power_on(void)
{
    control_power_on();
    device_power_on(settings.bus, settings.legacy, settings.vectors, settings.offered);
    device.config[CONFIG_MTU] = (uint8_t)settings.mtu;
    device.config[CONFIG_MTU + 1] = (uint8_t)(settings.mtu >> 8);
    for (unsigned i = 0; i < QUEUES; i++) {
        if (device.queue[i].size_max != 0) {
            device.queue[i].size_max = queue_size(i);
        }
    }
    if (settings.vectors != 0) {
        device.vectors_granted = settings.vectors;
    }
}

/* Returns the number of a queue of the chosen pair. */
static unsigned queue_of(unsigned offset)
{
    return 2 * owner_chosen() + offset;
}

/* ---- Steps of the owner ---- */

static uint32_t length(uint8_t b, uint8_t c)
{
    return c < 200 ? 14u + b : 14u + 8u * b % 1505u;
}

static void step_transmit(uint8_t a, uint8_t b, uint8_t c)
{
    uint32_t bytes = length(b, c);

    (void)owner_transmit(bytes < 1 ? 1 : bytes, 1 + a % 8u,
                         (a & 0x10) != 0 && device_features(VIRTIO_NET_F_CSUM));
}

static void step_burst(uint8_t a, uint8_t b, uint8_t c)
{
    for (unsigned i = 0; i < a % 48u; i++) {
        step_transmit((uint8_t)(c & 7), b, 0);
    }
    owner_flush();
}

static void step_flush(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    owner_flush();
}

static void step_fetch_packets(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    (void)owner_fetch_packets(a == 0 ? 1000 : a);
}

static void step_fetch_frames(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    (void)owner_fetch_frames(a == 0 ? 1000 : a);
}

static void step_bottom_half(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    owner_bottom_half((a & 1) == 0);
}

static void step_poll(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    if ((a & 1) != 0) {
        owner_refill();
    } else {
        owner_poll();
    }
}

static void step_link(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    owner_look_at_link();
    owner_getters();
}

/* Calls the interrupt handler, with or without an interrupt. */
static void step_interrupt(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    for (unsigned i = 0; i < 1 + b % 8u; i++) {
        owner_interrupt(a % VECTORS);
    }
}

static void step_interrupts(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    owner_interrupts();
}

static void step_settle(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    owner_settle();
}

static void step_buffers(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    pool_limit_buffers(a % 64u);
    owner_short_buffers((b & 7) == 7);
}

/* Stops the driver once or twice and uses it between the stops, which must have no effect. */
static void step_stop(uint8_t a, uint8_t b, uint8_t c)
{
    for (unsigned i = 0; i < 1 + a % 2u; i++) {
        (void)owner_stop();
        step_transmit(a, b, c);
        owner_flush();
        owner_refill();
        owner_poll();
        owner_bottom_half(false);
    }
}

void step_restart(bool honest, unsigned allocations, uint32_t capacity)
{
    unsigned lies = device.lies;
    const char *reason;

    if (owner_net() != NULL && !owner_destroy()) {
        return;
    }
    if (honest) {
        snare_clear();
        step_power_on();
        lies = 0;
    }
    /* A fault of the last life's rings is forgotten; the registers keep their faults. */
    device.lies = lies & ~(unsigned)LIE_RING;
    platform_fail_allocations(allocations);
    reason = owner_create(&settings.parameters, capacity);
    if (reason != NULL) {
        HOSTILE_CHECK(device.lies != 0 || allocations != UINT_MAX || !control_obeys(),
                      "the driver refuses an honest device: %s", reason);
    }
    platform_fail_allocations(UINT_MAX);
}

/* Restarts the driver, the owner's response to every failure. a: whether the device is honest
 * again; b: failing allocations or larger buffers. */
static void step_recover(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    step_restart((a & 1) != 0, b < 16 ? b : UINT_MAX, VIRTIO_NET_RECEIVE_BYTES + (b & 3u) * 100u);
}

/* ---- Steps of an honest device ---- */

static void step_receive(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_receive(owner_chosen(), 1 + a % 16u, length(b, c), 0);
}

static void step_receive_odd(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_receive(owner_chosen(), 1, 14u + a, 1u + (uint32_t)(b * 0x01010101u ^ c * 0x10203u));
}

static void step_send(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    traffic_take(queue_of(1), 1 + a % 64u);
    traffic_return(queue_of(1), 1 + a % 64u, b);
}

static void step_take(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    traffic_take(queue_of(1 + b % 3u), 1 + a % 32u);
}

static void step_return(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_return(queue_of(1 + c % 3u), 1 + a % 32u, b);
}

static void step_ask(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    traffic_ask(queue_of(a % 3u), (b & 1) != 0);
}

/* Sets the link up or down at any time, with or without the configuration interrupt. */
static void step_configure(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    device.config[6] = a & 1;
    device.generation++;
    device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
}

static void step_needs_reset(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    if (device_running()) {
        device_fail();
    }
}

/* ---- Malicious steps ---- */

static uint32_t wide(uint8_t b, uint8_t c)
{
    static const uint32_t odd[] = {0, 1, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0xffffffff};

    return c < 128 ? b : c < 192 ? b * 256u + c : odd[b % 8] + (c & 3u);
}

static void step_lie(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_lie(queue_of(a % 3u), a / 3u % TRAFFIC_LIES, wide(b, c));
}

static void step_poke(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_poke(queue_of(a % 3u), (uint32_t)(a / 3u % 3u + 3u * b), wide(c, c));
}

static void step_scribble(uint8_t a, uint8_t b, uint8_t c)
{
    traffic_scribble(a * 0x01000001u ^ b * 0x100u ^ c * 0x10000u);
}

static void set_snare(uint8_t a, uint8_t b, uint32_t value, enum snare_effect effect)
{
    struct snare snare = {
        .access = a % ACCESS_KINDS,
        .effect = effect,
        .countdown = 1 + b % 32u,
        .every = (b & 0xe0) == 0xe0 ? 1 + (b & 3u) : 0,
        .value = value,
    };

    snare_set(&snare);
}

static void step_snare_replace(uint8_t a, uint8_t b, uint8_t c)
{
    set_snare(a, b, wide(c, (uint8_t)(a << 3)), SNARE_REPLACE);
}

static void step_snare_change(uint8_t a, uint8_t b, uint8_t c)
{
    set_snare(a, b, wide(c, 0), (a & 0x80) != 0 ? SNARE_ADD : SNARE_XOR);
}

static void step_snare_act(uint8_t a, uint8_t b, uint8_t c)
{
    set_snare(a, b, c + 256u * a, SNARE_ACT);
}

/* Finishes chains, and changes a word of the ring or a buffer between two reads of the driver. */
static void step_race(uint8_t a, uint8_t b, uint8_t c)
{
    struct snare snare = {
        .access = (a & 2) != 0 ? ACCESS_BUFFER_READ : ACCESS_RING_READ,
        .effect = (a & 4) != 0 ? SNARE_XOR : SNARE_REPLACE,
        .countdown = 1 + b % 16u,
        .value = wide(c, (uint8_t)(a & 0xf8)),
    };

    if ((a & 1) != 0) {
        traffic_take(queue_of(1), 1 + b / 64u);
        traffic_return(queue_of(1), 1 + b / 64u, c);
    } else {
        traffic_receive(owner_chosen(), 1 + b / 64u, 14u + c % 64u, 0);
    }
    snare_set(&snare);
    if ((b & 0x30) != 0) {
        owner_interrupt(1);
    } else {
        (void)owner_fetch_packets(1);
        owner_bottom_half(false);
    }
    (void)owner_fetch_frames(16);
}

/* The driver starts, and a register changes between two reads. */
static void step_start_race(uint8_t a, uint8_t b, uint8_t c)
{
    struct snare snare = {
        .access = ACCESS_STATUS + a % (ACCESS_REGISTER_WRITE - ACCESS_STATUS),
        .effect = (c & 1) != 0 ? SNARE_XOR : SNARE_REPLACE,
        .countdown = 1 + b % 32u,
        .every = b >= 0xe0 ? 1 + (b & 1u) : 0,
        .value = wide(c, (uint8_t)(a & 0xf8)),
    };

    snare_clear();
    snare_set(&snare);
    step_restart(false, UINT_MAX, VIRTIO_NET_RECEIVE_BYTES);
}

static void step_snare_clear(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    snare_clear();
}

/* Changes the device's own state. */
static void step_tamper(uint8_t a, uint8_t b, uint8_t c)
{
    struct queue *queue = &device.queue[b % 4u];

    device.lies |= LIE_REGISTER | LIE_CONFIG;
    switch (a % 8) {
    case 0:
        device.config[b % CONFIG_BYTES] = c;
        break;
    case 1:
        device.offered ^= UINT64_C(1) << (b % 64u);
        break;
    case 2:
        queue->size_max = (uint16_t)wide(c, b);
        break;
    case 3:
        queue->notify_offset = (uint16_t)wide(c, b);
        break;
    case 4:
        device.vectors_granted = c % (VECTORS + 1);
        break;
    case 5:
        device.pci.config[b] = c;
        break;
    case 6:
        device.bar_bytes[b % 6u] = wide(c, b) & 0xfffffu;
        break;
    default:
        device.status = c;
    }
}

static void step_raise(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    device_raise(a % VECTORS, b);
}

/* ---- Segmentation, commands, pairs, and the reset of one queue ---- */

/* Transmits frames of any size, with or without segmentation, by the rules or against them. */
static void step_segments(uint8_t a, uint8_t b, uint8_t c)
{
    struct owner_segments large = {
        .type = (enum virtio_net_gso)(a % 5u),
        .bytes = 14u + (uint32_t)b * b,
        .header_bytes = c,
        .gso_bytes = (uint16_t)((a >> 2) * 40u),
        .pieces = (uint8_t)(1 + c % 4u),
        .without_checksum = a >= 0xf0,
    };

    (void)owner_transmit_segments(&large);
}

static void step_command(uint8_t a, uint8_t b, uint8_t c)
{
    (void)owner_command(a % COMMANDS, b, c);
}

static void step_answers(uint8_t a, uint8_t b, uint8_t c)
{
    control_answers(a % CONTROL_MANNERS, wide(b, c));
}

static void step_obey(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    control_run();
}

/* Announces a change of the device's network, or none; the owner asks for it. */
static void step_announce(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    if ((a & 1) != 0) {
        device.config[6] |= 2;
        device.generation++;
        device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
    }
    (void)owner_announce_asked();
}

static void step_queue_reset(uint8_t a, uint8_t b, uint8_t c)
{
    (void)c;
    device.queue_reset = a % QUEUE_RESETS;
    device.queue_reset_reads = b * 8u; /* the longest delays exceed the driver's limit */
    device.lies |= device.queue_reset != QUEUE_RESET_DONE ? LIE_REGISTER | LIE_CONFIG : 0;
}

static void step_pair(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    owner_choose(a % PAIRS);
}

static void step_look(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    owner_look();
}

void snare_act(uint32_t value, bool unlocked)
{
    uint8_t operand = (uint8_t)(value >> 8);

    switch (value % 8) {
    case 0:
        traffic_receive(owner_chosen(), 1, 60, 0);
        break;
    case 1:
        traffic_take(queue_of(1), 1);
        traffic_return(queue_of(1), 1, operand);
        break;
    case 2:
        traffic_ask(queue_of(operand & 1u), false);
        break;
    case 3:
        device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
        break;
    case 4:
        step_lie((uint8_t)(value / 8), operand, operand);
        break;
    case 5:
        step_poke((uint8_t)(value / 8), operand, operand);
        break;
    default:
        if (unlocked && value % 8 == 6) {
            owner_interrupts();
        } else if (unlocked) {
            owner_interrupt(operand % VECTORS);
        }
    }
}

static const struct step steps[] = {
    {"transmit", step_transmit, false},
    {"burst", step_burst, false},
    {"flush", step_flush, false},
    {"fetch packets", step_fetch_packets, false},
    {"fetch frames", step_fetch_frames, false},
    {"bottom half", step_bottom_half, false},
    {"poll", step_poll, false},
    {"link", step_link, false},
    {"interrupt", step_interrupt, false},
    {"interrupts", step_interrupts, false},
    {"settle", step_settle, false},
    {"buffers", step_buffers, true},
    {"stop", step_stop, false},
    {"recover", step_recover, true},
    {"receive", step_receive, false},
    {"receive, odd header", step_receive_odd, false},
    {"send", step_send, false},
    {"take", step_take, false},
    {"return", step_return, false},
    {"ask", step_ask, false},
    {"configure", step_configure, true},
    {"needs reset", step_needs_reset, false},
    {"lie", step_lie, false},
    {"poke", step_poke, false},
    {"scribble", step_scribble, false},
    {"snare: replace", step_snare_replace, true},
    {"snare: change", step_snare_change, true},
    {"snare: act", step_snare_act, true},
    {"snares off", step_snare_clear, true},
    {"tamper", step_tamper, true},
    {"raise", step_raise, true},
    {"race", step_race, false},
    {"start race", step_start_race, true},
    {"segments", step_segments, false},
    {"command", step_command, false},
    {"answers", step_answers, true},
    {"obey", step_obey, false},
    {"announce", step_announce, false},
    {"queue reset", step_queue_reset, true},
    {"pair", step_pair, false},
    {"look", step_look, false},
};

/* Returns the step of a number. New steps belong at the end of the table, so that stored programs,
 * which use the lowest number of each step, do not change. */
const struct step *step_of(uint8_t what)
{
    unsigned count = sizeof(steps) / sizeof(steps[0]);

    _Static_assert(sizeof(steps) / sizeof(steps[0]) >= 32, "the table has at least 32 steps");
    return &steps[what % 64 < count ? what % 64 : what % 64 - count];
}
