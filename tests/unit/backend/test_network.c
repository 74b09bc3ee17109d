/* SPDX-License-Identifier: BSD-2-Clause */
/* The back-end of network devices: start and stop of drivers, and the ways of frames. */
#include "network_fixture.h"

#include "backend/frame_copy.h"
#include <string.h>

#define ALL DEVICE_NET_FEATURES
/* Neither offloads nor merged buffers. */
#define PLAIN (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MTU)

#define FRAME_BYTES 100u

enum { CARD_STATION = 0x81 };

static const uint8_t plain_header[HEADER];
static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];

static void begin_with(uint64_t features)
{
    fixture_begin();
    for (unsigned i = 0; i < STATIONS; i++) {
        station_start(i, features);
        station_expose(i, RING / 2, 2048);
    }
    settle();
}

static void begin(uint64_t features)
{
    fixture_prepare();
    begin_with(features);
}

static uint8_t *send_plain(unsigned from, uint8_t to, uint32_t number)
{
    uint8_t *sent;

    make_frame(frame, FRAME_BYTES, to, (uint8_t)(from + 1), number);
    sent = station_send(from, plain_header, frame, FRAME_BYTES, number % 2 == 0);
    assert_non_null(sent);
    return sent;
}

static void expect_received(unsigned station, uint32_t number)
{
    assert_int_equal(station_receive(station, received), HEADER + FRAME_BYTES);
    assert_int_equal(check_frame(received + HEADER, FRAME_BYTES), number);
}

static void expect_none(unsigned station)
{
    assert_int_equal(station_receive(station, received), 0);
}

static void expect_card(unsigned place, uint32_t number)
{
    assert_true(place < fixture.card_count);
    assert_int_equal(fixture.card[place].count, FRAME_BYTES);
    assert_int_equal(check_frame(fixture.card[place].bytes, FRAME_BYTES), number);
}

static void test_ways_of_frames(void **state)
{
    (void)state;
    begin(ALL);
    (void)send_plain(0, 2, 10);
    (void)send_plain(0, CARD_STATION, 11);
    settle();
    (void)send_plain(1, 0xff, 12);
    settle();
    expect_received(1, 10);
    expect_none(1);
    expect_received(0, 12);
    expect_received(2, 12);
    expect_none(2);
    assert_int_equal(fixture.card_count, 2);
    expect_card(0, 11);
    expect_card(1, 12);
    assert_int_equal(station_sent(0), 2);
    assert_int_equal(station_sent(1), 1);
    make_frame(frame, FRAME_BYTES, 3, CARD_STATION, 13);
    card_receive(frame, FRAME_BYTES);
    expect_received(2, 13);
    expect_none(0);
    make_frame(frame, FRAME_BYTES, 0xff, CARD_STATION, 14);
    card_receive(frame, FRAME_BYTES);
    for (unsigned i = 0; i < STATIONS; i++) {
        expect_received(i, 14);
        expect_none(i);
    }
    assert_int_equal(fixture.network.bridge.counters[1].received.frames, 2);
    assert_int_equal(fixture.network.bridge.counters[FRAME_SWITCH_CARD].sent.frames, 2);
    fixture_end();
}

static void test_one_interrupt_a_round(void **state)
{
    (void)state;
    begin(ALL & ~VIRTIO_F_EVENT_IDX);
    assert_int_equal(fixture.stations[1].interrupts, 1); /* it may be resumed */
    for (uint32_t i = 0; i < 20; i++) {
        (void)send_plain(0, 2, i);
    }
    settle();
    assert_int_equal(fixture.stations[1].interrupts, 2);
    assert_int_equal(fixture.stations[2].interrupts, 1);
    fixture_end();
}

static void test_address_of_another(void **state)
{
    (void)state;
    begin(ALL);
    make_frame(frame, FRAME_BYTES, 3, 2, 1); /* from the address of station 1 */
    assert_non_null(station_send(0, plain_header, frame, FRAME_BYTES, true));
    settle();
    expect_none(2);
    assert_int_equal(station_sent(0), 1);
    assert_int_equal(fixture.network.bridge.counters[1].received.drops[FRAME_DROP_SPOOFED], 1);
    fixture_end();
}

/* A client changes its frame after the decision, when the card is asked for room. */
static uint8_t *changed;

static void change_header(void)
{
    memset(changed, 0x81, 18);
    changed[13] = 0; /* the type of a tag */
}

static void test_header_that_changes(void **state)
{
    (void)state;
    begin(ALL);
    for (uint32_t number = 0; number < 2; number++) { /* in one segment, and apart */
        changed = send_plain(0, CARD_STATION, number);
        fixture.on_callback = change_header;
        settle();
        fixture.on_callback = NULL;
        assert_int_equal(changed[12], 0x81);
        expect_card(number, number);
        assert_memory_equal(fixture.card[number].bytes, "\2\0\0\0\0\x81\2\0\0\0\0\1", 12);
    }
    fixture_end();
}

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* Makes a struct virtio_net_hdr with a partial checksum (VIRTIO 1.3, 5.1.6). */
static void make_header(uint8_t header[HEADER], unsigned gso, uint32_t gso_bytes, uint32_t start,
                        uint32_t offset)
{
    memset(header, 0, HEADER);
    header[0] = 1;
    header[1] = (uint8_t)gso;
    put16(&header[4], gso_bytes);
    put16(&header[6], start);
    put16(&header[8], offset);
}

/* The checksum would be written over the source address, or the type. */
static void test_checksum_in_the_header(void **state)
{
    uint8_t header[HEADER];

    (void)state;
    begin(PLAIN | VIRTIO_NET_F_CSUM);
    for (uint32_t start = 0; start < 14; start++) {
        make_frame(frame, FRAME_BYTES, 2, 1, start);
        make_header(header, 0, 0, start, 6);
        assert_non_null(station_send(0, header, frame, FRAME_BYTES, true));
    }
    settle();
    expect_none(1);
    assert_int_equal(fixture.clients[0].statistics.bad_checksums, 14);
    make_header(header, 0, 0, 14, 6);
    assert_non_null(station_send(0, header, frame, FRAME_BYTES, true));
    settle();
    assert_int_equal(station_receive(1, received), HEADER + FRAME_BYTES);
    assert_memory_equal(received + HEADER, frame, 20);
    assert_memory_not_equal(received + HEADER + 20, frame + 20, 2);
    fixture_end();
}

/* A tag moves the places of the checksum behind 65,535: it would be written over an address. */
static void test_checksum_that_a_tag_moves(void **state)
{
    const uint32_t bytes = NETWORK_FRAME_BYTES_MAX, places[] = {65531, 65532, 65535};
    uint8_t header[HEADER];

    (void)state;
    fixture_prepare();
    fixture.setups[0].rules.kind = FRAME_SWITCH_ACCESS;
    fixture.setups[0].rules.vlan = 5;
    fixture.setups[1].rules.kind = FRAME_SWITCH_TRUNK;
    fixture_begin();
    station_start(0, VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CSUM);
    station_start(1, VIRTIO_F_VERSION_1);
    station_expose(1, 3, FRAME_ROOM);
    for (unsigned i = 0; i < 3; i++) {
        make_frame(frame, bytes, 2, 1, i);
        make_header(header, 0, 0, places[i], 8);
        assert_non_null(station_send(0, header, frame, bytes, true));
    }
    settle();
    assert_int_equal(station_receive(1, received), HEADER + bytes + 4);
    assert_memory_equal(received + HEADER, frame, 12);
    assert_memory_equal(received + HEADER + 12, "\x81\0\0\5\x88\xb5", 6);
    assert_int_equal(station_receive(1, received), 0);
    assert_int_equal(fixture.clients[0].statistics.bad_checksums, 2);
    fixture_end();
}

static void test_vlans(void **state)
{
    uint8_t header[HEADER];

    (void)state;
    fixture_prepare();
    fixture.setups[0].rules.kind = FRAME_SWITCH_ACCESS;
    fixture.setups[0].rules.vlan = 5;
    fixture.setups[1].rules.kind = FRAME_SWITCH_TRUNK;
    begin_with(ALL);
    make_frame(frame, FRAME_BYTES, 0xff, 1, 7);
    make_header(header, 0, 0, 40, 6);
    assert_non_null(station_send(0, header, frame, FRAME_BYTES, false));
    settle();
    expect_none(2);
    assert_int_equal(fixture.card_count, 1);
    assert_int_equal(fixture.card[0].count, FRAME_BYTES + 4);
    assert_memory_equal(fixture.card[0].bytes + 12, "\x81\0\0\5\x88\xb5", 6);
    assert_memory_equal(fixture.card[0].bytes + 18, frame + 14, FRAME_BYTES - 14);
    assert_true(fixture.card[0].is_partial);
    assert_int_equal(fixture.card[0].checksum_start, 44);
    assert_int_equal(station_receive(1, received), HEADER + FRAME_BYTES + 4);
    assert_int_equal(received[6], 44); /* csum_start */
    assert_memory_equal(received + HEADER + 12, "\x81\0\0\5\x88\xb5", 6);
    /* The answer, with the tag. */
    memmove(frame + 16, frame + 12, FRAME_BYTES - 12);
    memcpy(frame, "\2\0\0\0\0\1\2\0\0\0\0\x81\x81\0\0\5", 16);
    card_receive(frame, FRAME_BYTES + 4);
    assert_int_equal(station_receive(0, received), HEADER + FRAME_BYTES);
    assert_int_equal(check_frame(received + HEADER, FRAME_BYTES), 7);
    fixture_end();
}

static void test_mtu(void **state)
{
    (void)state;
    begin(ALL);
    make_frame(frame, 1515, 2, CARD_STATION, 1);
    card_receive(frame, 1514);
    card_receive(frame, 1515);
    assert_int_equal(station_receive(1, received), HEADER + 1514);
    expect_none(1);
    assert_int_equal(fixture.network.bridge.counters[2].sent.drops[FRAME_DROP_NO_BUFFER], 1);
    fixture_end();
}

static void test_receiver_without_buffers(void **state)
{
    (void)state;
    fixture_prepare();
    fixture_begin();
    station_start(0, ALL);
    station_start(1, ALL);
    (void)send_plain(0, 2, 1);
    (void)send_plain(0, CARD_STATION, 2);
    settle();
    assert_int_equal(station_sent(0), 2);
    assert_int_equal(fixture.card_count, 1);
    assert_int_equal(fixture.network.bridge.counters[2].sent.drops[FRAME_DROP_NO_BUFFER], 1);
    fixture_end();
}

static void test_card_without_room(void **state)
{
    (void)state;
    begin(ALL);
    fixture.card_room = 1;
    for (uint32_t i = 0; i < 4; i++) {
        (void)send_plain(0, CARD_STATION, i);
    }
    assert_int_equal(turn_round(64), NETWORK_NO_ROOM);
    assert_int_equal(turn_round(64), NETWORK_NO_ROOM);
    assert_int_equal(station_sent(0), 1);
    fixture.card_room = 10;
    settle();
    assert_int_equal(station_sent(0), 3);
    for (uint32_t i = 0; i < 4; i++) {
        expect_card(i, i);
    }
    fixture.card_limit = FRAME_BYTES - 1;
    (void)send_plain(0, CARD_STATION, 5);
    settle();
    assert_int_equal(station_sent(0), 1);
    fixture.card_limit = UINT32_MAX;
    network_set_card(&fixture.network, &(struct network_card){0});
    (void)send_plain(0, CARD_STATION, 5);
    settle();
    assert_int_equal(station_sent(0), 1);
    assert_int_equal(fixture.card_count, 4);
    assert_int_equal(
        fixture.network.bridge.counters[FRAME_SWITCH_CARD].sent.drops[FRAME_DROP_NO_BUFFER], 2);
    fixture_end();
}

/* An IPv4 header and a TCP header, with `data` bytes behind them. */
#define TCP_START   34u
#define TCP_HEADERS 54u

static void make_tcp(uint8_t to, uint8_t from, uint32_t data)
{
    make_frame(frame, TCP_HEADERS + data, to, from, 1);
    memcpy(frame + 12, "\x08\0\x45\0", 4);
    put16(frame + 16, 0);
    memset(frame + 18, 0, 16);
    frame[23] = 6;
    frame[TCP_START + 12] = 0x50;
}

static void send_tcp(unsigned from, uint8_t to, uint32_t data, uint32_t mss)
{
    uint8_t header[HEADER];

    make_tcp(to, (uint8_t)(from + 1), data);
    make_header(header, 1, mss, TCP_START, 16);
    assert_non_null(station_send(from, header, frame, TCP_HEADERS + data, true));
}

static void test_segments_for_the_card(void **state)
{
    struct network_card card = {.is_open = true, .completes_checksums = true};

    (void)state;
    begin(ALL);
    fixture.card_room = 3;
    send_tcp(0, CARD_STATION, 10000, 1000);
    assert_int_equal(turn_round(64), NETWORK_NO_ROOM); /* in the middle of it */
    assert_int_equal(station_sent(0), 0);
    fixture.card_room = 100;
    assert_int_equal(turn_round(4), NETWORK_MORE); /* each segment counts */
    assert_in_range(fixture.card_count, 6, 7);
    settle();
    assert_int_equal(fixture.card_count, 10);
    assert_int_equal(station_sent(0), 1);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(fixture.card[i].count, TCP_HEADERS + 1000);
        assert_memory_equal(fixture.card[i].bytes + TCP_HEADERS, frame + TCP_HEADERS + 1000 * i,
                            1000);
    }
    card.segments_tcpv4 = true;
    network_set_card(&fixture.network, &card);
    send_tcp(0, CARD_STATION, 60000, 1000);
    settle();
    assert_int_equal(fixture.card_count, 11);
    assert_int_equal(fixture.card[10].gso, DEVICE_NET_GSO_TCPV4);
    assert_int_equal(fixture.card[10].count, TCP_HEADERS + 60000);
    fixture_end();
}

static void test_segments_for_a_client(void **state)
{
    (void)state;
    fixture_prepare();
    fixture_begin();
    station_start(0, ALL);
    station_start(1, PLAIN);
    station_expose(1, 8, 2048);
    send_tcp(0, 2, 5000, 1000);
    settle();
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(station_receive(1, received), HEADER + TCP_HEADERS + 1000);
    }
    expect_none(1);
    assert_int_equal(station_sent(0), 1);
    send_tcp(0, 2, 10000, 1000); /* three buffers are left: the rest is lost at once */
    settle();
    assert_int_equal(station_sent(0), 1);
    assert_int_equal(fixture.network.bridge.counters[2].sent.drops[FRAME_DROP_NO_BUFFER], 1);
    fixture_end();
}

/* A frame of several segments from the card: whole for a client that takes it, divided for others.
 */
static void test_segments_from_the_card(void **state)
{
    const struct device_segment parts[] = {{frame, 1000}, {frame + 1000, TCP_HEADERS + 4000}};
    struct device_net_frame from = {
        .segments = parts,
        .count = 2,
        .bytes = TCP_HEADERS + 5000,
        .gso = DEVICE_NET_GSO_TCPV4,
        .gso_bytes = 1000,
        .header_bytes = TCP_HEADERS,
        .checksum_partial = true,
        .checksum_start = TCP_START,
        .checksum_offset = 16,
    };

    (void)state;
    fixture_prepare();
    fixture_begin();
    station_start(0, ALL);
    station_start(1, PLAIN);
    station_expose(0, 8, 8192);
    station_expose(1, 8, 2048);
    make_tcp(1, CARD_STATION, 5000);
    assert_int_equal(card_receive_frame(&from), 1);
    assert_int_equal(station_receive(0, received), HEADER + TCP_HEADERS + 5000);
    assert_memory_equal(received, "\1\1", 2);
    assert_memory_equal(received + HEADER, frame, TCP_HEADERS + 5000);
    make_tcp(2, CARD_STATION, 5000);
    assert_in_range(card_receive_frame(&from), 5, 6);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(station_receive(1, received), HEADER + TCP_HEADERS + 1000);
        assert_memory_equal(received + HEADER + TCP_HEADERS, frame + TCP_HEADERS + 1000 * i, 1000);
    }
    expect_none(1);
    from.bytes = TCP_HEADERS; /* it has no data to divide */
    from.count = 1;
    assert_int_equal(card_receive_frame(&from), 1);
    fixture_end();
}

static void test_driver_that_starts_and_stops(void **state)
{
    (void)state;
    fixture_prepare();
    fixture_begin();
    settle();
    assert_int_equal(fixture.stations[0].acknowledgements, 1); /* this life accesses nothing old */
    settle();
    assert_int_equal(fixture.stations[0].acknowledgements, 1);
    for (uint32_t life = 1; life < 5; life++) {
        station_start(0, ALL);
        (void)send_plain(0, CARD_STATION, life - 1);
        settle();
        expect_card(life - 1, life - 1);
        assert_int_equal(fixture.clients[0].state, NETWORK_CLIENT_RUNNING);
        assert_int_equal(fixture.clients[0].statistics.resumed, 1); /* the first may be */
        (void)send_plain(0, CARD_STATION, life);
        station_reset(0);
        settle();
        assert_int_equal(fixture.stations[0].acknowledged, life);
        assert_int_equal(fixture.clients[0].state, NETWORK_CLIENT_STOPPED);
        station_free(0);
    }
    assert_int_equal(fixture.card_count, 4);
    fixture_end();
}

/* A frame waits for room while its driver resets the device. */
static void test_reset_with_a_frame_on_its_way(void **state)
{
    (void)state;
    begin(ALL);
    fixture.card_room = 0;
    (void)send_plain(0, CARD_STATION, 1);
    settle();
    station_reset(0);
    settle();
    assert_int_equal(fixture.stations[0].acknowledged, 1);
    station_free(0); /* the sanitizer sees a later access */
    fixture.card_room = 10;
    settle();
    assert_int_equal(fixture.card_count, 0);
    station_start(0, ALL);
    (void)send_plain(0, CARD_STATION, 2);
    settle();
    assert_int_equal(fixture.card_count, 1);
    expect_card(0, 2);
    assert_int_equal(station_sent(0), 1);
    fixture_end();
}

static void test_driver_without_version_1(void **state)
{
    (void)state;
    fixture_prepare();
    fixture_begin();
    station_start(0, ALL & ~VIRTIO_F_VERSION_1);
    station_start(1, ALL);
    (void)send_plain(1, CARD_STATION, 1);
    settle();
    settle();
    assert_int_equal(fixture.stations[0].failures, 1);
    assert_int_equal(fixture.clients[0].state, NETWORK_CLIENT_FAILED);
    assert_int_equal(fixture.card_count, 1);
    station_reset(0);
    settle();
    station_free(0);
    station_start(0, ALL);
    settle();
    assert_int_equal(fixture.clients[0].state, NETWORK_CLIENT_RUNNING);
    fixture_end();
}

/* An earlier life of the back-end has found the device broken. */
static void test_device_that_needs_a_reset(void **state)
{
    (void)state;
    fixture_prepare();
    station_start(0, ALL);
    fixture.stations[0].page.status |= 64;
    fixture_begin();
    settle();
    assert_int_equal(fixture.clients[0].state, NETWORK_CLIENT_STOPPED);
    assert_int_equal(fixture.stations[0].failures, 0);
    fixture_end();
}

static void test_link(void **state)
{
    (void)state;
    begin(ALL);
    assert_int_equal(fixture.stations[2].status, DEVICE_NET_LINK_UP);
    network_set_link(&fixture.network, false);
    assert_int_equal(fixture.stations[2].status, 0);
    network_set_link(&fixture.network, true);
    assert_int_equal(fixture.stations[2].status, DEVICE_NET_LINK_UP);
    fixture_end();
}

static void test_sleep(void **state)
{
    (void)state;
    begin(ALL);
    assert_true(network_sleep(&fixture.network));
    (void)send_plain(0, CARD_STATION, 0);
    assert_false(network_sleep(&fixture.network));
    network_wake(&fixture.network);
    settle();
    assert_true(network_sleep(&fixture.network));
    fixture.card_room = 0; /* the card will have room: no driver has to notify */
    (void)send_plain(0, CARD_STATION, 1);
    (void)send_plain(0, CARD_STATION, 2);
    assert_int_equal(turn_round(64), NETWORK_NO_ROOM);
    assert_true(network_sleep(&fixture.network));
    fixture_end();
}

static void test_limit(void **state)
{
    uint64_t time = 0;

    (void)state;
    fixture_prepare();
    fixture.setups[0].share.rate = 1000; /* bytes/s */
    fixture.setups[0].share.burst = 1u << 17;
    begin_with(ALL);
    for (uint32_t i = 0; i < 3; i++) {
        send_tcp(0, CARD_STATION, 60000, 1000);
    }
    network_set_card(&fixture.network, &(struct network_card){.is_open = true,
                                                              .completes_checksums = true,
                                                              .segments_tcpv4 = true});
    network_begin(&fixture.network, fixture.now);
    assert_int_equal(network_service(&fixture.network, 64, &time), NETWORK_WAIT);
    network_end(&fixture.network);
    assert_int_equal(fixture.card_count, 2);
    assert_true(network_sleep(&fixture.network)); /* until the limit lets it go on */
    assert_in_range(time, 49 * SECOND, 50 * SECOND);
    fixture.now = time;
    settle();
    assert_int_equal(fixture.card_count, 3);
    fixture_end();
}

/* Client 0 floods, with frames that cost `ports` times as much. Returns the share of client 1. */
static unsigned flood(uint8_t to, uint32_t weight)
{
    unsigned of_second = 0;

    fixture_prepare();
    fixture.setups[1].share.weight = weight;
    begin_with(ALL);
    for (unsigned rounds = 0; fixture.card_count < CARD_FRAMES - 100; rounds++) {
        for (unsigned i = 0; i < 2; i++) {
            make_frame(frame, FRAME_BYTES, i == 0 ? to : CARD_STATION, (uint8_t)(i + 1), rounds);
            (void)station_sent(i);
            while (station_send(i, plain_header, frame, FRAME_BYTES, true) != NULL) {
            }
        }
        (void)turn_round(8);
    }
    for (unsigned i = 0; i < fixture.card_count; i++) {
        of_second += fixture.card[i].bytes[11] == 2;
    }
    of_second = of_second * 100 / fixture.card_count;
    fixture_end();
    return of_second;
}

static void test_floods(void **state)
{
    (void)state;
    assert_in_range(flood(CARD_STATION, 1), 35, 65);
    assert_in_range(flood(CARD_STATION, 3), 65, 85);
    assert_in_range(flood(0xff, 1), 70, 80); /* a broadcast costs as much as three frames */
}

/* Client 0 makes chains available that are no frames. They cost as much as frames. */
static void test_flood_of_bad_chains(void **state)
{
    const uint64_t *bad = &fixture.clients[0].net.statistics.transmit_bad;

    (void)state;
    begin(ALL);
    for (unsigned rounds = 0; rounds < 200; rounds++) {
        make_frame(frame, FRAME_BYTES, CARD_STATION, 2, rounds);
        for (unsigned i = 0; i < 2; i++) {
            (void)station_sent(i);
            while (station_send(i, plain_header, frame, i == 0 ? 13 : FRAME_BYTES, false) != NULL) {
            }
        }
        (void)turn_round(8);
    }
    /* A frame of 100 bytes costs as much as 1.7 of the least cost. */
    assert_true(*bad < 2 * fixture.card_count + 2 * RING);
    assert_true(*bad > fixture.card_count);
    fixture_end();
}

/* Client 0 sends each frame in 32 descriptors, and an indirect one. They cost 16 bytes each, so its
 * frames cost as much as 6 of client 1. */
static void test_flood_of_descriptors(void **state)
{
    unsigned of_first = 0;

    (void)state;
    begin(ALL);
    for (unsigned rounds = 0; fixture.card_count < CARD_FRAMES - 100; rounds++) {
        make_frame(frame, FRAME_BYTES, CARD_STATION, 1, rounds);
        (void)station_sent(0);
        while (station_send_parts(0, frame, FRAME_BYTES)) {
        }
        make_frame(frame, FRAME_BYTES, CARD_STATION, 2, rounds);
        (void)station_sent(1);
        while (station_send(1, plain_header, frame, FRAME_BYTES, false) != NULL) {
        }
        (void)turn_round(8);
    }
    for (unsigned i = 0; i < fixture.card_count; i++) {
        of_first += fixture.card[i].bytes[11] == 1;
    }
    assert_in_range(fixture.card_count / of_first, 6, 8);
    fixture_end();
}

static void test_copies(void **state)
{
    uint64_t seed = 1;
    uint8_t copy[400];

    (void)state;
    for (unsigned run = 0; run < 2000; run++) {
        struct device_segment segments[5], pieces[64];
        struct device_net_frame whole = {.segments = segments, .checksum_partial = run % 2 != 0};
        uint32_t room = 0;
        unsigned used;

        for (unsigned i = 0; i < 5; i++) {
            segments[i].memory = &frame[whole.bytes];
            segments[i].bytes = (uint32_t)random_between(&seed, 1, 80);
            whole.bytes += segments[i].bytes;
            whole.count++;
        }
        for (uint32_t i = 0; i < whole.bytes; i++) {
            frame[i] = (uint8_t)random_below(&seed, 256);
        }
        for (unsigned i = 0; i < 64 && room < sizeof(copy); i++) {
            uint32_t least = (uint32_t)(sizeof(copy) - room) / (64 - i);

            pieces[i].memory = &copy[room];
            pieces[i].bytes = least + (uint32_t)random_below(&seed, 30);
            if (pieces[i].bytes > sizeof(copy) - room || pieces[i].bytes == 0) {
                pieces[i].bytes = (uint32_t)sizeof(copy) - room;
            }
            room += pieces[i].bytes;
        }
        if (whole.bytes < 3) {
            continue;
        }
        whole.checksum_start = (uint16_t)random_below(&seed, whole.bytes - 2);
        whole.checksum_offset =
            (uint16_t)random_below(&seed, whole.bytes - 1 - whole.checksum_start);
        if (whole.checksum_partial) {
            uint32_t place = (uint32_t)whole.checksum_start + whole.checksum_offset;
            uint16_t checksum = device_net_checksum(&whole);

            used = frame_copy(&whole, pieces, true);
            assert_int_equal(copy[place] << 8 | copy[place + 1], checksum);
            frame[place] = copy[place];
            frame[place + 1] = copy[place + 1];
        } else {
            used = frame_copy(&whole, pieces, true);
        }
        room = 0;
        for (unsigned i = 0; i < used; i++) {
            room += pieces[i].bytes;
        }
        assert_int_equal(room, whole.bytes);
        assert_memory_equal(copy, frame, whole.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways_of_frames),
        cmocka_unit_test(test_one_interrupt_a_round),
        cmocka_unit_test(test_address_of_another),
        cmocka_unit_test(test_header_that_changes),
        cmocka_unit_test(test_checksum_in_the_header),
        cmocka_unit_test(test_checksum_that_a_tag_moves),
        cmocka_unit_test(test_vlans),
        cmocka_unit_test(test_mtu),
        cmocka_unit_test(test_receiver_without_buffers),
        cmocka_unit_test(test_card_without_room),
        cmocka_unit_test(test_segments_for_the_card),
        cmocka_unit_test(test_segments_for_a_client),
        cmocka_unit_test(test_segments_from_the_card),
        cmocka_unit_test(test_driver_that_starts_and_stops),
        cmocka_unit_test(test_reset_with_a_frame_on_its_way),
        cmocka_unit_test(test_driver_without_version_1),
        cmocka_unit_test(test_device_that_needs_a_reset),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_flood_of_bad_chains),
        cmocka_unit_test(test_flood_of_descriptors),
        cmocka_unit_test(test_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
