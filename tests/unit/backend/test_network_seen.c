/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the reports of the back-end of network devices for tools: the mirror of ports, and the
 * counters. */
#include "network_fixture.h"

#include "backend/network_report.h"
#include <stdlib.h>
#include <string.h>

#define ALL         DEVICE_NET_FEATURES
#define SLOTS       40u
#define RING_BYTES  (sizeof(struct frame_mirror_ring) + SLOTS * sizeof(struct frame_mirror_slot))
#define SECOND      UINT64_C(1000000000)
#define FRAME_BYTES 100u
#define PORT(index) (1u << ((index) + 1u))

enum { CARD_STATION = 0x81 };

static const uint8_t plain_header[HEADER];
static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];
static struct frame_mirror_ring *ring;
static struct network_report report;
static const struct network_port ports[STATIONS + 1] = {
    {.starts = 3, .failures = 2},
    {.device = "lan-a", .client = "a", .doorbells = 9},
    {.device = "lan-b", .client = "b"},
    {.device = "a-name-of-16-chars", .client = "c"},
};

static void begin(void)
{
    fixture_prepare();
    fixture.setups[0].mtu = UINT16_MAX;
    fixture_begin();
    ring = malloc(RING_BYTES);
    assert_true(frame_mirror_init(&fixture.network.mirror, ring, RING_BYTES, 77));
    for (unsigned i = 0; i < STATIONS; i++) {
        station_start(i, ALL);
        station_expose(i, RING / 2, 2048);
    }
    settle();
}

static void end(void)
{
    fixture_end();
    free(ring);
}

static void request(uint32_t wanted, uint32_t limit)
{
    ring->ports = wanted;
    ring->bytes_limit = limit;
    ring->beat++;
    settle();
}

static void send_frame(unsigned from, uint8_t to, uint32_t number)
{
    make_frame(frame, FRAME_BYTES, to, (uint8_t)(from + 1), number);
    assert_non_null(station_send(from, plain_header, frame, FRAME_BYTES, number % 2 == 0));
    settle();
    (void)station_sent(from);
}

/* Checks that the slot `number` has a whole frame of make_frame(). */
static void expect_slot(uint64_t number, uint32_t port, enum frame_mirror_direction direction,
                        uint32_t frame_number)
{
    const struct frame_mirror_slot *slot = &ring->slots[(number - 1) % SLOTS];

    assert_int_equal(slot->number, number);
    assert_int_equal(slot->port, port);
    assert_int_equal(slot->direction, direction);
    assert_int_equal(slot->frame_bytes, FRAME_BYTES);
    assert_int_equal(slot->kept_bytes, FRAME_BYTES);
    assert_int_equal(slot->offset, 0);
    assert_int_equal(slot->bytes, FRAME_BYTES);
    assert_int_equal(check_frame(slot->content, FRAME_BYTES), frame_number);
}

static void test_mirror_of_a_client(void **state)
{
    (void)state;
    begin();
    send_frame(0, 2, 1);
    assert_int_equal(ring->written, 0); /* nobody asks */
    request(PORT(0), 0);
    send_frame(0, 2, 2);
    send_frame(1, 1, 3);
    send_frame(1, 3, 4); /* between two others */
    make_frame(frame, FRAME_BYTES, 1, CARD_STATION, 5);
    card_receive(frame, FRAME_BYTES);
    assert_int_equal(ring->written, 3);
    expect_slot(1, 1, FRAME_MIRROR_RECEIVED, 2);
    expect_slot(2, 1, FRAME_MIRROR_SENT, 3);
    expect_slot(3, 1, FRAME_MIRROR_SENT, 5);
    request(0, 0);
    send_frame(0, 2, 6);
    assert_int_equal(ring->written, 3);
    end();
}

static void test_dropped_frames(void **state)
{
    (void)state;
    begin();
    request(PORT(0) | PORT(2), 0);
    make_frame(frame, FRAME_BYTES, 3, 2, 1); /* from the address of another */
    assert_non_null(station_send(0, plain_header, frame, FRAME_BYTES, true));
    settle();
    assert_int_equal(ring->written, 1); /* sent, and received by nobody */
    expect_slot(1, 1, FRAME_MIRROR_RECEIVED, 1);
    end();
}

static void test_frame_of_several_slots(void **state)
{
    const uint32_t bytes = 5000;
    uint32_t offset = 0;

    (void)state;
    begin();
    request(1u << FRAME_SWITCH_CARD, 0);
    make_frame(frame, bytes, CARD_STATION, 1, 1);
    assert_non_null(station_send(0, plain_header, frame, bytes, true));
    settle();
    assert_int_equal(ring->written, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct frame_mirror_slot *slot = &ring->slots[i];

        assert_int_equal(slot->frame_bytes, bytes);
        assert_int_equal(slot->kept_bytes, bytes);
        assert_int_equal(slot->offset, offset);
        assert_memory_equal(slot->content, frame + offset, slot->bytes);
        offset += slot->bytes;
    }
    assert_int_equal(offset, bytes);
    request(1u << FRAME_SWITCH_CARD, 2500);
    assert_non_null(station_send(0, plain_header, frame, bytes, false));
    settle();
    assert_int_equal(ring->written, 5);
    assert_int_equal(ring->slots[4].frame_bytes, bytes);
    assert_int_equal(ring->slots[4].kept_bytes, 2500);
    assert_int_equal(ring->slots[4].offset + ring->slots[4].bytes, 2500);
    end();
}

static void test_oldest_slots_are_overwritten(void **state)
{
    (void)state;
    begin();
    request(PORT(0), 0);
    for (uint32_t i = 1; i <= SLOTS + 10; i++) {
        send_frame(0, CARD_STATION, i);
    }
    assert_int_equal(ring->written, SLOTS + 10);
    for (uint32_t i = 11; i <= SLOTS + 10; i++) {
        expect_slot(i, 1, FRAME_MIRROR_RECEIVED, i);
    }
    end();
}

static void test_tool_that_was_killed(void **state)
{
    (void)state;
    begin();
    request(PORT(0), 0);
    fixture.now += FRAME_MIRROR_SILENCE - SECOND / 10;
    send_frame(0, 2, 1);
    assert_int_equal(ring->written, 1);
    fixture.now += SECOND / 5;
    send_frame(0, 2, 2);
    assert_int_equal(ring->written, 1);
    request(PORT(0), 0);
    send_frame(0, 2, 3);
    assert_int_equal(ring->written, 2);
    end();
}

/* A tool that writes anything harms nobody: the ring's numbers are not used. */
static void test_tool_that_writes_anything(void **state)
{
    (void)state;
    begin();
    memset(ring, 0xff, RING_BYTES);
    settle();
    for (uint32_t i = 1; i < 3 * SLOTS; i++) {
        send_frame(0, 2, i);
        assert_int_equal(station_receive(1, received), HEADER + FRAME_BYTES);
        station_expose(1, 1, 2048);
        ring->slot_count = UINT32_MAX - i;
        ring->written = UINT64_MAX - i;
    }
    end();
}

static void test_memory_without_room(void **state)
{
    struct frame_mirror mirror;
    struct frame_mirror_ring small;

    (void)state;
    assert_false(frame_mirror_init(&mirror, &small, sizeof(small), 1));
    frame_mirror_follow(&mirror, 1);
    assert_false(frame_mirror_has_port(&mirror, 1));
}

static void update(void)
{
    network_report_update(&report, &fixture.network, ports, fixture.now);
}

static void test_counters(void **state)
{
    const struct network_record *card = &report.records[FRAME_SWITCH_CARD];
    const struct network_record *first = &report.records[1];

    (void)state;
    begin();
    network_report_begin(&report, 5, 10);
    assert_int_equal(report.record_count, 0);
    send_frame(0, 2, 1);
    send_frame(0, CARD_STATION, 2);
    make_frame(frame, FRAME_BYTES, 3, 2, 3);
    assert_non_null(station_send(0, plain_header, frame, FRAME_BYTES, true));
    settle();
    fixture.now = 20;
    update();
    assert_int_equal(report.life, 5);
    assert_int_equal(report.started, 10);
    assert_int_equal(report.updated, 20);
    assert_int_equal(report.record_count, STATIONS + 1);
    assert_int_equal(report.record_bytes, sizeof(struct network_record));
    assert_string_equal(card->device, "");
    assert_int_equal(card->state, NETWORK_PORT_UP);
    assert_int_equal(card->frames.sent.frames, 1);
    assert_int_equal(card->starts, 3);
    assert_int_equal(card->failures, 2);
    assert_string_equal(first->device, "lan-a");
    assert_string_equal(first->client, "a");
    assert_int_equal(first->state, NETWORK_PORT_UP);
    assert_int_equal(first->frames.received.frames, 2);
    assert_int_equal(first->frames.received.bytes, 2 * FRAME_BYTES);
    assert_int_equal(first->frames.received.drops[FRAME_DROP_SPOOFED], 1);
    assert_int_equal(first->doorbells, 9);
    assert_int_equal(first->starts, 1);
    assert_string_equal(report.records[3].device, "a-name-of-16-ch");
    assert_int_equal(report.records[2].frames.sent.bytes, FRAME_BYTES);
    end();
}

static void test_states(void **state)
{
    (void)state;
    begin();
    network_report_begin(&report, 5, 0);
    network_set_link(&fixture.network, false);
    station_reset(1);
    settle();
    fixture.network.clients[2].state = NETWORK_CLIENT_FAILED;
    network_set_card(&fixture.network, &(struct network_card){.is_open = false});
    update();
    assert_int_equal(report.records[0].state, NETWORK_PORT_NO_DRIVER);
    assert_int_equal(report.records[1].state, NETWORK_PORT_DOWN);
    assert_int_equal(report.records[2].state, NETWORK_PORT_NO_DRIVER);
    assert_int_equal(report.records[3].state, NETWORK_PORT_FAILED);
    end();
}

/* The driver's counters begin again when it starts; the report's do not. */
static void test_bad_chains_of_all_starts(void **state)
{
    (void)state;
    begin();
    network_report_begin(&report, 5, 0);
    for (unsigned start = 1; start <= 2; start++) {
        assert_non_null(station_send(0, plain_header, frame, 3, false)); /* shorter than a header */
        settle();
        update();
        assert_int_equal(report.records[1].bad_chains, start);
        station_reset(0);
        settle();
        update();
        assert_int_equal(report.records[1].bad_chains, start);
        station_free(0);
        station_start(0, ALL);
        settle();
    }
    update();
    assert_int_equal(report.records[1].starts, 3);
    end();
}

/* A client that its limit holds back is counted once for each time that it waits. */
static void test_waits(void **state)
{
    (void)state;
    fixture_prepare();
    fixture.setups[0].mtu = UINT16_MAX;
    fixture.setups[0].share.rate = 1000;
    fixture.setups[0].share.burst = FAIR_QUEUE_FRAME_BYTES_MAX;
    fixture_begin();
    station_start(0, ALL);
    network_report_begin(&report, 5, 0);
    for (unsigned i = 0; i < 5; i++) {
        make_frame(frame, 60000, CARD_STATION, 1, i);
        assert_non_null(station_send(0, plain_header, frame, 60000, true));
    }
    settle();
    settle();
    update();
    assert_int_equal(report.records[1].frames.received.frames, 2);
    assert_int_equal(report.records[1].waits, 1);
    fixture.now += 60 * SECOND;
    settle();
    update();
    assert_int_equal(report.records[1].frames.received.frames, 3);
    assert_int_equal(report.records[1].waits, 2);
    fixture_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mirror_of_a_client),
        cmocka_unit_test(test_dropped_frames),
        cmocka_unit_test(test_frame_of_several_slots),
        cmocka_unit_test(test_oldest_slots_are_overwritten),
        cmocka_unit_test(test_tool_that_was_killed),
        cmocka_unit_test(test_tool_that_writes_anything),
        cmocka_unit_test(test_memory_without_room),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_bad_chains_of_all_starts),
        cmocka_unit_test(test_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
