/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzzer's program for the back-end of network devices: a malicious client (attacker.h) beside
 * two honest ones and a card. An input is a header of 4 bytes, and steps of 4 bytes. After each
 * step the honest clients exchange frames with each other and with the card. Each frame arrives
 * once and unchanged, within a bounded amount of the back-end's work, and no frame of the malicious
 * client has an address or a VLAN that its rules forbid.
 */
#include "attacker.h"
#include "network_fixture.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_HEADER 4u
#define STEP_BYTES     4u
#define HOSTILE        2u /* station */
#define VLAN           5u
#define TYPE           12u /* place in a frame, without a tag */
#define TYPE_BYTES     3u
#define BUFFER_BYTES   2048u
#define BUFFERS        ((ATTACKER_BYTES - ATTACKER_BUFFERS) / BUFFER_BYTES)
#define PIECES_MAX     48u
#define START_BYTES    280u       /* of a frame, with all headers that are possible */
#define CARD_NUMBERS   0x1000000u /* frames from the card are counted from here on */
/* Frames that leave, or are looked at, until a frame of an honest client has left: that and the
 * turn before it each take as long as the malicious client sends the smallest frames, by its
 * weight. */
#define TURNS_MAX(weight) (16u + 2u * (weight) * FAIR_QUEUE_TURN_BYTES / FAIR_QUEUE_COST_MIN)
#define BACKLOG_BYTES     100000u
#define MIRROR_BYTES      (sizeof(struct frame_mirror_ring) + 8u * sizeof(struct frame_mirror_slot))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const uint8_t plain_header[HEADER];
/* Type, and the first byte of the IP header. */
static const uint8_t version_4[TYPE_BYTES] = {0x08, 0x00, 0x45};
static const uint8_t version_6[TYPE_BYTES] = {0x86, 0xdd, 0x60};
/* A round copies the headers of large frames, and sums up what it divides. */
static const struct attacker_work round_limit = {.all = 4000000, .shared = 400000};

static uint64_t programs, steps, sent_by_hostile, turns_most, work_most;
static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];
static unsigned budget;
static uint64_t honest_features, hostile_features;
static uint32_t number;
static bool is_received;   /* the frame `number` by station 1 */
static uint32_t from_card; /* number of the frame that station 0 waits for, 0: none */
static uint32_t to_card;   /* number of the frame that the card waits for, 0: none */
static struct frame_mirror_ring *mirror;

/* ---- Frames that arrive ---- */

static bool is_address(const uint8_t *address, uint8_t last)
{
    const uint8_t expected[6] = {2, 0, 0, 0, 0, last};

    return memcmp(address, expected, sizeof(expected)) == 0;
}

/* Checks a frame of the malicious client that has left to an honest one. */
static void check_hostile(const uint8_t *at)
{
    const struct frame_switch_rules *rules = &fixture.setups[HOSTILE].rules;

    ATTACKER_CHECK(!is_address(at + 6, 1) && !is_address(at + 6, 2), "a spoofed address");
    ATTACKER_CHECK(rules->is_any_address || is_address(at + 6, 3),
                   "an address that is not its own");
    ATTACKER_CHECK(rules->kind != FRAME_SWITCH_ACCESS, "a frame from another VLAN");
    ATTACKER_CHECK(at[TYPE] != 0x81 || at[TYPE + 1] != 0, "a tag that is not allowed");
}

/* Checks the first buffer of a frame that an honest client has received. */
static void check_received(unsigned station, uint32_t bytes)
{
    const uint8_t *at = received + HEADER;

    ATTACKER_CHECK(bytes >= HEADER + 14, "a frame of %u bytes", bytes);
    if (station == 1 && is_address(at + 6, 1)) {
        ATTACKER_CHECK(!is_received && check_frame(at, bytes - HEADER) == number,
                       "another frame than the one that was sent");
        is_received = true;
    } else if (station == 0 && is_address(at + 6, 0x81)) {
        ATTACKER_CHECK(from_card != 0 && check_frame(at, bytes - HEADER) == from_card,
                       "another frame than the card's");
        from_card = 0;
    } else {
        check_hostile(at);
    }
}

static void collect(unsigned station)
{
    unsigned further = 0; /* buffers of the same frame */
    uint32_t bytes;

    while ((bytes = station_receive(station, received)) != 0) {
        station_expose(station, 1, 2048);
        if (further != 0) {
            further--;
            continue;
        }
        check_received(station, bytes);
        if ((honest_features & VIRTIO_NET_F_MRG_RXBUF) != 0) {
            further = received[10] - 1u; /* num_buffers (5.1.6) */
        }
    }
    ATTACKER_CHECK(further == 0, "a part of a frame");
}

/* Checks a frame that has left to the card, with a tag or not. */
static void check_card(const struct card_frame *sent)
{
    const struct frame_switch_rules *rules = &fixture.setups[HOSTILE].rules;
    const uint8_t *at = sent->bytes;
    bool has_tag = at[TYPE] == 0x81 && at[TYPE + 1] == 0;

    if (!has_tag && is_address(at + 6, 1)) {
        ATTACKER_CHECK(to_card != 0 && check_frame(at, sent->count) == to_card,
                       "another frame to the card");
        to_card = 0;
        return;
    }
    /* The honest clients have their addresses outside of VLANs. */
    ATTACKER_CHECK(has_tag || !is_address(at + 6, 2), "a spoofed address");
    ATTACKER_CHECK(rules->is_any_address || is_address(at + 6, 3),
                   "an address that is not its own");
    switch (rules->kind) {
    case FRAME_SWITCH_NO_VLAN:
        ATTACKER_CHECK(!has_tag, "a tag without a VLAN");
        break;
    case FRAME_SWITCH_ACCESS:
        ATTACKER_CHECK(has_tag && (at[TYPE + 2] & 0xfu) == 0 && at[TYPE + 3] == VLAN,
                       "another VLAN than its own");
        break;
    case FRAME_SWITCH_TRUNK:
    default:
        break;
    }
}

static void drain_card(void)
{
    while (fixture.card_count != 0) {
        const struct card_frame *sent = &fixture.card[--fixture.card_count];

        check_card(sent);
        free(sent->bytes);
    }
    fixture.card_room = CARD_FRAMES;
}

/* ---- Rounds ---- */

static uint64_t execute_round(void)
{
    struct attacker_work work;

    trace_enter(&round_limit);
    (void)turn_round(budget);
    work = trace_leave();
    collect(0);
    collect(1);
    drain_card();
    ATTACKER_CHECK(fixture.stations[0].failures + fixture.stations[1].failures == 0,
                   "an honest client failed");
    return work.all;
}

/* Station 0 sends a frame, and the back-end works until that has arrived, and left from all ports.
 */
static void send_honest(uint8_t to, uint32_t bytes)
{
    uint64_t work = 0;
    uint64_t turns = 0;
    unsigned returned = 0;

    make_frame(frame, bytes, to, 1, number);
    ATTACKER_CHECK(station_send(0, plain_header, frame, bytes, number % 2 == 0) != NULL,
                   "an honest client can't send");
    while (!is_received || to_card != 0 || returned == 0) {
        ATTACKER_CHECK(turns < TURNS_MAX(fixture.setups[HOSTILE].share.weight),
                       "a frame of an honest client does not arrive in time");
        work += execute_round();
        returned += station_sent(0);
        turns += budget;
    }
    ATTACKER_CHECK(returned == 1, "a sent frame was returned twice");
    turns_most = turns > turns_most ? turns : turns_most;
    work_most = work > work_most ? work : work_most;
}

/* The card is the first, so that the switch knows the address behind it, which a client with any
 * address could have otherwise. */
static void exchange(void)
{
    uint32_t bytes = 60 + ++number * 61u % 1440u;

    from_card = CARD_NUMBERS + number;
    make_frame(frame, bytes, 1, 0x81, from_card);
    card_receive(frame, bytes);
    collect(0);
    ATTACKER_CHECK(from_card == 0, "a frame of the card is lost");
    is_received = false;
    send_honest(2, bytes);
    if (number % 4 == 0) {
        to_card = number;
        send_honest(0x81, bytes);
    }
}

/* ---- Steps ---- */

static uint64_t buffer_at(unsigned place)
{
    return ATTACKER_START + ATTACKER_BUFFERS + (uint64_t)(place % BUFFERS) * BUFFER_BYTES;
}

static void put_bytes(uint64_t address, const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t *at = memory_at(address + i, 1);

        if (at != NULL) {
            *at = bytes[i];
        }
    }
}

/* Describes a frame of several TCP segments, with a header that is right, or too long. */
static void make_segments(uint8_t *bytes, uint8_t b, uint8_t c)
{
    bool is_version_6 = (b & 4u) != 0;
    uint8_t *at = bytes + HEADER;
    uint8_t start = is_version_6 ? (uint8_t)(54 + c * 3u / 4u) : 34;
    const uint8_t header[HEADER] = {
        1, is_version_6 ? 4 : 1, 54, 0, (uint8_t)(1 + b), b >> 6, start, 0, 16};

    memcpy(bytes, header, sizeof(header));
    memcpy(at + TYPE, is_version_6 ? version_6 : version_4, TYPE_BYTES);
    memset(at + 20, 0, 2);
    at[23] = 6;
    at[start + 12] = (uint8_t)(0x50 + (b & 0xf8u));
}

/* Writes virtio's header and the start of a frame. */
static void put_frame(uint64_t address, uint8_t a, uint8_t b, uint8_t c)
{
    static const uint8_t destinations[] = {1, 2, 3, 0x81, 0xff, 0x80, 4, 0x82};
    static const uint8_t sources[] = {3, 3, 3, 1, 2, 0x81, 4, 9};
    uint8_t bytes[HEADER + START_BYTES] = {0};
    uint8_t *at = bytes + HEADER;

    make_frame(at, START_BYTES, destinations[a % 8u], sources[a / 8u % 8u], number);
    if ((b & 3u) == 1) {
        make_segments(bytes, b, c);
    } else if ((b & 3u) == 2) { /* an incomplete checksum anywhere */
        bytes[0] = 1;
        bytes[6] = b / 4u % 16u;
        bytes[8] = c % 16u;
        bytes[9] = (b & 0x40u) != 0 ? c : 0;
    } else if ((b & 3u) == 3) { /* a tag */
        const uint8_t tag[] = {(b & 4u) != 0 ? 0x88 : 0x81, (b & 4u) != 0 ? 0xa8 : 0, 0, b / 8u};

        memcpy(at + TYPE, tag, sizeof(tag));
    }
    put_bytes(address, bytes, sizeof(bytes));
}

static void step_send(uint8_t a, uint8_t b, uint8_t c)
{
    struct attacker_piece pieces[PIECES_MAX];
    uint64_t at = buffer_at(a / 4u);
    unsigned count = (b & 3u) == 1 ? 1 + c % PIECES_MAX : 1 + c % 3u;

    put_frame(at, a, b, c);
    pieces[0] = (struct attacker_piece){at, HEADER + START_BYTES + (c & 0xe0u) * 4u, false};
    for (unsigned i = 1; i < count; i++) {
        pieces[i] = (struct attacker_piece){buffer_at(i + c), c * 8u, false};
    }
    if ((a & 0x80u) != 0 && b % 8u == 0) { /* around the end of a window */
        pieces[count - 1].address = ATTACKER_START + ATTACKER_WINDOW_BYTES - b;
        pieces[count - 1].bytes = 100;
    }
    if ((c & 0x10u) != 0) { /* header, addresses and the rest in pieces of their own */
        pieces[count++ % PIECES_MAX] = pieces[0];
        pieces[0].bytes = 1 + c % 20u;
    }
    rings_add(DEVICE_NET_TRANSMIT, pieces, count % PIECES_MAX, (a & 0x40u) != 0);
    sent_by_hostile++;
}

static void step_flood(uint8_t a, uint8_t b, uint8_t c)
{
    for (unsigned i = 0; i < c % 32u; i++) {
        step_send(a, b, (uint8_t)(c / 32u * 32u + i % 3u));
    }
}

static void step_expose(uint8_t a, uint8_t b, uint8_t c)
{
    for (unsigned i = 0; i < 1 + a % 32u; i++) {
        struct attacker_piece pieces[8];
        unsigned count = 1 + b % 8u;

        for (unsigned j = 0; j < count; j++) {
            pieces[j] = (struct attacker_piece){buffer_at(i + j), 1 + c * 8u, (b & 0x80u) == 0};
        }
        rings_add(DEVICE_NET_RECEIVE, pieces, count, (b & 0x40u) != 0);
    }
}

static void step_command(uint8_t a, uint8_t b, uint8_t c)
{
    const uint8_t command[] = {a % 4u, b % 7u, a < 128 ? c & 1u : c, 0, 0, 0, c};
    uint64_t at = buffer_at(3);
    const struct attacker_piece pieces[] = {
        {at, 2, false},
        {at + 2, a < 128 ? 1 : 8u + b / 7u * 6u, false},
        {buffer_at(4), c % 2u, true},
    };

    put_bytes(at, command, sizeof(command));
    rings_add(DEVICE_NET_CONTROL, pieces, 3 - (c & 4u) / 4u, (c & 8u) != 0);
}

static void step_start(uint8_t a, uint8_t b, uint8_t c)
{
    registers_start(hostile_features & ~(UINT64_C(1) << (b % 64u)), a < 8 ? c : 1u << a % 9u);
}

static void step_register(uint8_t a, uint8_t b, uint8_t c)
{
    registers_write_any(a, (a & 0x80u) != 0 ? (uint32_t)ATTACKER_START + attacker_value(b, c)
                                            : attacker_value(b, c));
}

static void step_reset(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    registers_reset();
    if ((a & 1u) != 0) {
        trace_clear(); /* of the client's other processors */
        (void)execute_round();
        ATTACKER_CHECK(registers_are_acknowledged(), "a stop is not acknowledged");
    }
}

static void step_publish(uint8_t a, uint8_t b, uint8_t c)
{
    rings_publish(a, attacker_value(b, c));
}

static void step_poke(uint8_t a, uint8_t b, uint8_t c)
{
    rings_poke(a, b, attacker_value(c, (uint8_t)(a * 3u)));
}

static void step_describe(uint8_t a, uint8_t b, uint8_t c)
{
    rings_describe(a % 3u, a, b, c);
}

static void step_snare(uint8_t a, uint8_t b, uint8_t c)
{
    trace_set(&(struct attacker_snare){
        .effect = a % ATTACKER_EFFECTS,
        .countdown = 1 + b % 64u,
        .every = b >= 0xe0u ? 1 + b % 8u : 0,
        .value = a % ATTACKER_EFFECTS == ATTACKER_ACT ? a / 4u + 256u * c : attacker_value(c, a),
    });
}

static void step_snares_off(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    trace_clear();
}

/* The card sends a frame to the malicious client, or to all. */
static void step_from_card(uint8_t a, uint8_t b, uint8_t c)
{
    uint32_t bytes = 60 + attacker_value(b, c) % 60000u;
    const struct device_segment whole = {frame, bytes};
    struct device_net_frame sent = {.segments = &whole, .count = 1, .bytes = bytes};

    make_frame(frame, bytes, 3, 0x82, number);
    if (bytes > 1514) {
        sent.gso = DEVICE_NET_GSO_TCPV4;
        sent.gso_bytes = (uint16_t)(1 + c * 8u);
        sent.checksum_partial = true;
        sent.header_bytes = 54;
        sent.checksum_start = 34;
        sent.checksum_offset = 16;
        memcpy(frame + TYPE, version_4, TYPE_BYTES);
        memset(frame + 20, 0, 2);
        frame[23] = 6;
        frame[46] = 0x50;
    }
    trace_enter(&(struct attacker_work){.all = 100 * round_limit.all, .shared = 10000000});
    if ((a & 1u) != 0) {
        (void)card_receive_waiting(&sent, frame);
    } else {
        (void)card_receive_frame(&sent);
    }
    (void)trace_leave();
}

static void begin_life(void)
{
    fixture_begin();
    network_set_backlog(&fixture.network, BACKLOG_BYTES);
    fixture.network.card.completes_checksums = (budget & 1u) != 0;
    fixture.network.card.segments_tcpv4 = (budget & 2u) != 0;
    fixture.network.card.segments_tcpv6 = (budget & 2u) != 0;
    ATTACKER_CHECK(frame_mirror_init(&fixture.network.mirror, mirror, MIRROR_BYTES, 1),
                   "no mirror");
    mirror->ports = UINT32_MAX;
    mirror->beat = 1;
}

/* The back-end ends, and the next life continues. */
static void step_life(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    begin_life();
}

static void step_sleep(uint8_t a, uint8_t b, uint8_t c)
{
    fixture.now += (uint64_t)a << (c % 32u);
    trace_enter(&round_limit);
    if ((b & 1u) != 0) {
        (void)network_sleep(&fixture.network);
    } else {
        network_wake(&fixture.network);
    }
    (void)trace_leave();
}

static void step_link(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    network_set_link(&fixture.network, (a & 1u) != 0);
}

static void (*const table[])(uint8_t a, uint8_t b, uint8_t c) = {
    step_send,    step_expose, step_command,  step_start,      step_register,  step_reset,
    step_publish, step_poke,   step_describe, step_snare,      step_from_card, step_life,
    step_sleep,   step_link,   step_flood,    step_snares_off,
};

/* Another processor of the client, while the back-end executes. */
static void act(uint32_t value)
{
    uint8_t a = (uint8_t)(value >> 8);

    switch (value % 6) {
    case 0:
        registers_write_any(a, value >> 12);
        break;
    case 1:
        registers_reset();
        break;
    case 2:
        rings_publish(value / 6, a);
        break;
    case 3:
        step_send(a, (uint8_t)value, a);
        break;
    case 4:
        step_start((uint8_t)value, 63, a);
        break;
    default:
        step_describe((uint8_t)value, a, (uint8_t)(a * 5u));
    }
}

/* ---- Programs ---- */

static void describe(const uint8_t *header)
{
    static const enum frame_switch_vlan kinds[] = {FRAME_SWITCH_NO_VLAN, FRAME_SWITCH_ACCESS,
                                                   FRAME_SWITCH_TRUNK, FRAME_SWITCH_NO_VLAN};
    struct network_client_setup *setup = &fixture.setups[HOSTILE];
    const struct shared_device_kind kind = {.features = DEVICE_NET_FEATURES,
                                            .required = VIRTIO_F_VERSION_1,
                                            .device_id = 1,
                                            .queue_count = DEVICE_NET_QUEUES,
                                            .queue_size_max = DEVICE_QUEUE_SIZE_MAX,
                                            .config_bytes = 12};

    setup->memory = *memory_begin();
    setup->rules.kind = kinds[header[0] % 4u];
    setup->rules.vlan = VLAN;
    setup->rules.is_any_address = (header[0] & 4u) != 0;
    setup->share.weight = 1 + header[1] % 3u;
    if ((header[0] & 8u) != 0) {
        setup->share.rate = 1000000;
        setup->share.burst = 70000;
    }
    honest_features = DEVICE_NET_FEATURES;
    if ((header[0] & 16u) != 0) {
        honest_features = VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MAC | VIRTIO_F_INDIRECT_DESC;
    }
    /* A station that takes large frames whole has buffers for one of them. */
    budget = (header[0] & 16u) != 0 ? 1 + header[2] % 8u : 1;
    hostile_features = DEVICE_NET_FEATURES & ~((uint64_t)header[3] << 7);
    registers_begin(&kind, &fixture.stations[HOSTILE].page,
                    &fixture.stations[HOSTILE].acknowledged);
}

static void report(void)
{
    (void)fprintf(stderr,
                  "programs: %" PRIu64 ", steps: %" PRIu64 ", frames of the malicious client: "
                  "%" PRIu64 ", most turns: %" PRIu64 ", most work: %" PRIu64 "\n",
                  programs, steps, sent_by_hostile, turns_most, work_most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t header[PROGRAM_HEADER] = {0};

    if (programs++ == 0) {
        (void)atexit(report);
    }
    memcpy(header, data, bytes < sizeof(header) ? bytes : sizeof(header));
    fixture_prepare();
    fixture.on_callback = trace_callback;
    trace_begin(act);
    mirror = calloc(1, MIRROR_BYTES);
    describe(header);
    begin_life();
    number = 0;
    for (unsigned i = 0; i < HOSTILE; i++) {
        station_start(i, honest_features);
        station_expose(i, RING, 2048);
    }
    registers_start(hostile_features, 64);
    exchange();
    for (size_t at = sizeof(header); at + STEP_BYTES <= bytes; at += STEP_BYTES, steps++) {
        const uint8_t *step = data + at;

        table[step[0] % (sizeof(table) / sizeof(table[0]))](step[1], step[2], step[3]);
        exchange();
    }
    trace_clear();
    drain_card();
    fixture_end();
    free(mirror);
    return 0;
}
