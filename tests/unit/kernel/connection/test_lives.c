/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP connections whose machine is restarted: lwIP itself with a server, against peers that check
 * each segment. Lives end before each frame that they send, at stores to their records, at random,
 * and while frames are lost; records are damaged, and malicious.
 */
#include "connection/store.h"
#include "life.h"
#include "packets.h"
#include "peer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PEERS_MAX   5u
#define QUEUE_MAX   256u
#define FRAME_MAX   2048u
#define STEP_MS     5u
#define RESTART_MS  20u
#define PATIENCE_MS 600000u
#define RTO_MS      400u

static const struct life_plan endless = {LIFE_ENDLESS, LIFE_ENDLESS};

/* A network of one wire, without delay. */
static struct {
    struct peer peers[PEERS_MAX];
    unsigned count;
    uint32_t now;
    unsigned lives;
    unsigned loss;          /* one of so many frames is lost; 0: none */
    unsigned first, frames; /* of the queue to the machine */
    size_t bytes[QUEUE_MAX];
    uint8_t queue[QUEUE_MAX][FRAME_MAX];
} wire;

/* Returns a number below the bound, the same ones in each run (Numerical Recipes, 7.1.1). */
static uint32_t seed;
static unsigned draw(unsigned bound)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % bound;
}

static bool is_lost(void)
{
    return wire.loss != 0 && draw(wire.loss) == 0;
}

static void to_machine(const uint8_t *frame, size_t bytes)
{
    unsigned place = (wire.first + wire.frames) % QUEUE_MAX;

    if (is_lost() || wire.frames == QUEUE_MAX) {
        return;
    }
    memcpy(wire.queue[place], frame, bytes);
    wire.bytes[place] = bytes;
    wire.frames++;
}

static void from_machine(const uint8_t *frame, size_t bytes)
{
    if (peer_answer_neighbour(frame, bytes, to_machine) || is_lost()) {
        return;
    }
    for (unsigned i = 0; i < wire.count; i++) {
        peer_receive(&wire.peers[i], frame, bytes, wire.now, to_machine);
    }
}

static void begin(unsigned peers, uint32_t requests, unsigned slots)
{
    memset(&wire, 0, sizeof(wire));
    life_memory(slots);
    wire.count = peers;
    wire.now = 1;
    for (unsigned i = 0; i < peers; i++) {
        wire.peers[i].port = (uint16_t)(5000 + i);
        wire.peers[i].version = 4;
        wire.peers[i].requests = requests;
        wire.peers[i].rto = RTO_MS;
        peer_begin(&wire.peers[i]);
    }
}

static bool is_done(void)
{
    for (unsigned i = 0; i < wire.count; i++) {
        if (!peer_is_done(&wire.peers[i])) {
            return false;
        }
    }
    return true;
}

/* A frame to the machine, or time. Returns false if the life has ended. */
static bool step(void)
{
    if (wire.frames != 0) {
        unsigned place = wire.first;

        wire.first = (wire.first + 1) % QUEUE_MAX;
        wire.frames--;
        return life_step(wire.now, wire.queue[place], wire.bytes[place], from_machine);
    }
    wire.now += STEP_MS;
    for (unsigned i = 0; i < wire.count; i++) {
        peer_advance(&wire.peers[i], wire.now, to_machine);
    }
    return life_step(wire.now, NULL, 0, from_machine);
}

/* Begins lives until one lasts. Frames that were on their way are lost. */
static void begin_life(const struct life_plan *plan)
{
    while (!life_begin(wire.now, plan, from_machine)) {
        wire.lives++;
        plan = &endless;
    }
    wire.lives++;
}

static void restart(const struct life_plan *plan)
{
    wire.frames = 0;
    wire.now += RESTART_MS;
    begin_life(plan);
}

/* Executes until all peers are done. The first life has the plan, all others are endless. */
static void run(const struct life_plan *plan)
{
    begin_life(plan);
    while (!is_done()) {
        assert_true(wire.now < PATIENCE_MS);
        if (!step()) {
            restart(&endless);
        }
    }
    life_end();
}

static void steps(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(step());
    }
}

static void a_life_that_lasts(void **state)
{
    (void)state;
    begin(1, 8, LIFE_KEPT);
    run(&endless);
    assert_int_equal(wire.lives, 1);
    begin(1, 8, LIFE_KEPT);
    wire.peers[0].ahead = 8;
    run(&endless);
}

static void a_life_ends_before_each_frame(void **state)
{
    uint64_t frames = 0;

    (void)state;
    do {
        struct life_plan plan = {frames, LIFE_ENDLESS};

        begin(1, 3, LIFE_KEPT);
        wire.peers[0].ahead = (uint32_t)(frames % 3);
        run(&plan);
        frames++;
    } while (wire.lives > 1);
    assert_true(frames > 40);
}

static void ends_at_stores(unsigned loss)
{
    uint64_t stores = 0;

    do {
        struct life_plan plan = {LIFE_ENDLESS, stores};

        begin(1, 3, LIFE_KEPT);
        wire.peers[0].server_closes = true;
        wire.peers[0].offers_sack = true;
        wire.peers[0].checks_repeated = loss == 0;
        wire.loss = loss;
        peer_begin(&wire.peers[0]);
        run(&plan);
        stores += 7;
    } while (wire.lives > 1);
    assert_true(stores > 300);
}

static void a_life_ends_at_stores(void **state)
{
    (void)state;
    ends_at_stores(0);
}

/* Gaps are filled, and the machine tells of segments that it has out of order. */
static void a_life_ends_at_stores_while_frames_are_lost(void **state)
{
    (void)state;
    seed = 3;
    ends_at_stores(8);
}

/* The peer's timer does not expire before the patience does. So it repeats only because the machine
 * tells it. */
static void is_told(bool is_recovering)
{
    for (unsigned before = 8; before < 60; before += 3) {
        begin(1, 3, LIFE_KEPT);
        wire.peers[0].rto = PATIENCE_MS;
        wire.peers[0].is_recovering = is_recovering;
        begin_life(&endless);
        while (!wire.peers[0].is_connected) {
            steps(1);
        }
        steps(before);
        life_end();
        restart(&endless);
        while (!is_done()) {
            steps(1);
            assert_true(wire.now < 10000);
        }
        life_end();
    }
}

static void the_peer_is_told_at_once(void **state)
{
    (void)state;
    is_told(false);
}

static void a_peer_in_loss_recovery_is_told_too(void **state)
{
    (void)state;
    is_told(true);
}

static void many_lives(unsigned runs, unsigned loss)
{
    for (unsigned i = 0; i < runs; i++) {
        begin(3, 5, LIFE_KEPT);
        wire.loss = loss;
        for (unsigned k = 0; k < wire.count; k++) {
            wire.peers[k].ahead = draw(3);
            wire.peers[k].server_closes = draw(2) == 0;
            wire.peers[k].offers_sack = draw(2) == 0;
            peer_begin(&wire.peers[k]);
        }
        begin_life(&endless);
        while (!is_done()) {
            assert_true(wire.now < PATIENCE_MS);
            if (draw(60) == 0) {
                life_end();
                restart(&(struct life_plan){draw(2) == 0 ? draw(40) : LIFE_ENDLESS, LIFE_ENDLESS});
            } else if (!step()) {
                restart(&endless);
            }
        }
        life_end();
    }
}

static void many_lives_end_at_random(void **state)
{
    (void)state;
    seed = 1;
    many_lives(12, 0);
}

/* Two peers, and at least ten lives. */
static void lives_over_ipv6(void)
{
    begin(2, 5, LIFE_KEPT);
    wire.peers[0].version = 6;
    wire.peers[1].version = 6;
    wire.peers[1].server_closes = true;
    peer_begin(&wire.peers[1]);
    begin_life(&endless);
    while (!is_done() || wire.lives < 10) {
        for (unsigned left = draw(30); left != 0 && !is_done(); left--) {
            assert_true(step());
        }
        life_end();
        restart(&endless);
        assert_true(wire.lives < 1000);
    }
    life_end();
    assert_int_equal(life_lines("dropped"), 0);
}

/* Link-local addresses have a zone. A peer that has no other address uses one to reach a global
 * address, which has none. */
static void over_ipv6(void **state)
{
    static const uint8_t global[16] = {0xfd, [15] = 2};
    uint8_t link_local[16];

    (void)state;
    seed = 5;
    lives_over_ipv6();
    memcpy(link_local, packet_address6[1], sizeof(link_local));
    memcpy(packet_address6[1], global, sizeof(global));
    lives_over_ipv6();
    memcpy(packet_address6[1], link_local, sizeof(link_local));
}

/* Lets the next peer, number i, connect, and the server close the connection. */
static void close_by_server(unsigned i, bool fins_cross)
{
    struct peer *peer = &wire.peers[i];

    peer->server_closes = true;
    peer->fins_cross = fins_cross;
    peer_begin(peer);
    wire.count = i + 1;
    while (!peer_is_done(peer)) {
        assert_true(wire.now < PATIENCE_MS);
        steps(1);
    }
}

/* Connections that wait in TIME-WAIT wait anew in each life. They take no place of new ones. */
static void many_lives_with_closed_connections(void **state)
{
    (void)state;
    begin(PEERS_MAX, 1, LIFE_KEPT);
    begin_life(&endless);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        close_by_server(i, false);
        for (unsigned lives = 0; lives < 10; lives++) {
            life_end();
            restart(&endless);
        }
    }
    assert_int_equal(life_lines("more than 3 connections"), 0);
    assert_int_equal(life_lines("dropped"), 0);
    life_end();
}

static void frames_are_lost_too(void **state)
{
    (void)state;
    seed = 2;
    many_lives(12, 20);
}

/* Five peers and three slots: all are served, and a restart ends two. */
static void more_connections_than_slots(void **state)
{
    unsigned resets = 0;

    (void)state;
    begin(PEERS_MAX, 3, LIFE_KEPT);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        wire.peers[i].may_be_reset = true;
    }
    begin_life(&endless);
    steps(40);
    assert_int_equal(life_lines("more than 3 connections"), 1);
    life_end();
    restart(&endless);
    while (!is_done()) {
        assert_true(wire.now < PATIENCE_MS);
        steps(1);
    }
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        resets += wire.peers[i].is_reset;
    }
    assert_int_equal(resets, PEERS_MAX - LIFE_KEPT);
    life_end();
}

/* Bytes for which the receive ring has no room are not acknowledged. */
static void a_peer_ignores_the_window(void **state)
{
    (void)state;
    begin(1, 8, LIFE_KEPT);
    wire.peers[0].ignores_window = true;
    wire.peers[0].ahead = 8;
    run(&endless);
    assert_int_equal(wire.lives, 1);
}

static void without_kept_memory(void **state)
{
    (void)state;
    for (unsigned slots = 0; slots < LIFE_KEPT; slots += 2) {
        begin(2, 6, slots);
        run(&endless);
        assert_int_equal(life_lines(slots == 0 ? "0 of 3 connections can be kept (not found)"
                                               : "2 of 3 connections can be kept"),
                         1);
    }
}

/* Both sides have closed, and the last acknowledgement was lost. */
static void repeats_fin(bool sends_rest)
{
    begin(1, 1, LIFE_KEPT);
    wire.peers[0].server_closes = true;
    wire.peers[0].sends_rest = sends_rest;
    peer_begin(&wire.peers[0]);
    run(&endless);
    wire.peers[0].acked--;
    wire.peers[0].next--;
    restart(&endless);
    while (!is_done()) {
        assert_true(wire.now < PATIENCE_MS);
        steps(1);
    }
    life_end();
}

static void a_closed_connection_answers_a_repeated_fin(void **state)
{
    (void)state;
    repeats_fin(false);
}

static void bytes_before_a_repeated_fin_are_not_forgotten(void **state)
{
    (void)state;
    repeats_fin(true);
}

/* The FIN of the server has no bytes, and that of the peer crosses it. The slots of connections
 * that have ended so are used again. */
static void fins_that_cross(void **state)
{
    (void)state;
    begin(PEERS_MAX, 1, LIFE_KEPT);
    begin_life(&endless);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        close_by_server(i, true);
        steps(2000); /* the server repeats its FIN, which the peer acknowledges */
    }
    assert_int_equal(life_lines("more than 3 connections"), 0);
    life_end();
}

/* lwIP has not enough segments for an answer. So it gets a part at a time, and after a restart the
 * peer acknowledges more than is queued again. */
static void a_peer_with_small_segments(void **state)
{
    (void)state;
    for (uint64_t frames = 100; frames < 1000; frames += 100) {
        struct life_plan plan = {frames, LIFE_ENDLESS};

        begin(1, 3, LIFE_KEPT);
        wire.peers[0].segment = 64;
        run(&plan);
    }
    /* An ordinary connection promises no more room than there is. */
    begin(1, 3, 0);
    wire.peers[0].segment = 64;
    begin_life(&endless);
    steps(1000);
    life_end();
}

/* Bytes that are no whole request are no progress: a slow client does not hold its connection. */
static void a_request_that_never_ends(void **state)
{
    struct peer *peer = &wire.peers[0];

    (void)state;
    begin(1, 1, LIFE_KEPT);
    begin_life(&endless);
    for (peer->most = 1; !peer->has_ended; peer->most++) {
        assert_true(peer->most < 7); /* the request has 8 bytes */
        for (unsigned i = 0; i < 1000; i++) {
            wire.now += 250; /* a period of lwIP's timer */
            steps(1);
        }
    }
    life_end();
}

/* Only a SYN has a maximum size of segments (RFC 9293, 3.7.1). Otherwise lwIP would find a segment
 * in its queue that is larger than its maximum. */
static void a_peer_that_shrinks_segments(void **state)
{
    (void)state;
    begin(1, 3, LIFE_KEPT);
    wire.peers[0].ahead = 3;
    wire.peers[0].shrinks = true;
    run(&endless);
    assert_int_equal(wire.lives, 1);
}

/* The machine has another address than before, and does not get the old one back. */
static void connections_of_another_address_are_dropped(void **state)
{
    struct store_slot slot;
    const char *reason;

    (void)state;
    begin(1, 2, LIFE_KEPT);
    assert_int_equal(store_open(&slot, life_memory_start(), &reason), STORE_EMPTY);
    slot.content = (struct store_content){.local_address = {10, 0, 0, 9},
                                          .remote_address = {10, 0, 0, 1},
                                          .local_port = LIFE_PORT,
                                          .remote_port = 6000,
                                          .segment_bytes = 1000,
                                          .flags = STORE_OPEN};
    store_write(&slot);
    begin_life(&endless);
    assert_int_equal(life_lines("1 connections continue"), 1);
    while (life_lines("this machine has another address now") == 0) {
        assert_true(wire.now < PATIENCE_MS);
        steps(1);
        wire.now += 1000;
    }
    assert_int_equal(store_open(&slot, life_memory_start(), &reason), STORE_EMPTY);
    life_end();
}

/* ---- What a failed life may leave ---- */

static void damage(uint8_t *memory, unsigned slot, unsigned byte)
{
    memory[slot * store_slot_bytes() + byte] ^= 0x10;
    memory[slot * store_slot_bytes() + byte +
           kept_record_bytes(sizeof(struct store_content)) / 2] ^= 0x10;
}

/* The connections of the other slots continue. */
static void a_broken_slot_is_dropped_alone(void **state)
{
    unsigned resets = 0;

    (void)state;
    begin(LIFE_KEPT, 3, LIFE_KEPT);
    for (unsigned i = 0; i < LIFE_KEPT; i++) {
        wire.peers[i].may_be_reset = true;
    }
    begin_life(&endless);
    steps(30);
    life_end();
    damage(life_memory_start(), 1, 48);
    restart(&endless);
    assert_int_equal(life_lines("a kept connection is dropped: damaged"), 1);
    assert_int_equal(life_lines("2 connections continue"), 1);
    while (!is_done()) {
        assert_true(wire.now < PATIENCE_MS);
        steps(1);
    }
    for (unsigned i = 0; i < LIFE_KEPT; i++) {
        resets += wire.peers[i].is_reset;
    }
    assert_int_equal(resets, 1);
    life_end();
}

static void draw_bytes(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)draw(256);
    }
}

/* A content whose record is as it should be. Each member is plausible, or is not. */
static void draw_content(struct store_content *content)
{
    static const uint8_t addresses[2][4] = {{10, 0, 0, 2}, {10, 0, 0, 1}};

    draw_bytes(content, sizeof(*content));
    content->reserved = 0;
    content->flags &= 0x3f;
    content->scale = (content->flags & STORE_SCALED) != 0 ? content->scale & 15 : 0;
    content->zone = draw(4);
    if (draw(4) != 0) {
        content->flags &= (uint8_t)~STORE_V6;
        memcpy(content->local_address, addresses[0], 4);
        memcpy(content->remote_address, addresses[draw(2)], 4);
        content->local_port = LIFE_PORT;
        content->segment_bytes = (uint16_t)(1 + draw(1500));
        content->received = content->consumed + draw(CONNECTION_RECEIVE_BYTES + 2);
        content->written = content->acknowledged + draw(CONNECTION_SEND_BYTES + 2);
    }
}

static void malicious_records_do_no_harm(void **state)
{
    (void)state;
    seed = 4;
    for (unsigned i = 0; i < 60; i++) {
        begin(1, 2, LIFE_KEPT);
        for (unsigned k = 0; k < LIFE_KEPT; k++) {
            struct store_slot slot;
            const char *reason;

            (void)store_open(&slot, life_memory_start() + k * store_slot_bytes(), &reason);
            draw_content(&slot.content);
            store_write(&slot);
        }
        run(&endless);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_that_lasts),
        cmocka_unit_test(a_life_ends_before_each_frame),
        cmocka_unit_test(a_life_ends_at_stores),
        cmocka_unit_test(a_life_ends_at_stores_while_frames_are_lost),
        cmocka_unit_test(the_peer_is_told_at_once),
        cmocka_unit_test(a_peer_in_loss_recovery_is_told_too),
        cmocka_unit_test(many_lives_end_at_random),
        cmocka_unit_test(over_ipv6),
        cmocka_unit_test(many_lives_with_closed_connections),
        cmocka_unit_test(frames_are_lost_too),
        cmocka_unit_test(more_connections_than_slots),
        cmocka_unit_test(a_peer_ignores_the_window),
        cmocka_unit_test(without_kept_memory),
        cmocka_unit_test(a_closed_connection_answers_a_repeated_fin),
        cmocka_unit_test(bytes_before_a_repeated_fin_are_not_forgotten),
        cmocka_unit_test(fins_that_cross),
        cmocka_unit_test(a_peer_with_small_segments),
        cmocka_unit_test(a_request_that_never_ends),
        cmocka_unit_test(a_peer_that_shrinks_segments),
        cmocka_unit_test(connections_of_another_address_are_dropped),
        cmocka_unit_test(a_broken_slot_is_dropped_alone),
        cmocka_unit_test(malicious_records_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
