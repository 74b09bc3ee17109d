/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests frames from the card that wait until a client has buffers (backend/network/receive.c). */
#include "network_fixture.h"

#include <string.h>

#define WHOLE                                                                               \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX | VIRTIO_F_IN_ORDER | \
     DEVICE_NET_FEATURES)
/* Takes neither partial checksums nor frames of several segments. */
#define PLAIN        VIRTIO_F_VERSION_1
#define MILLISECOND  UINT64_C(1000000)
#define WAIT_MAX     (10 * MILLISECOND)
#define FRAME_BYTES  100u
#define CARD_STATION 0x80
#define BACKLOG      (4 * FRAME_BYTES)
#define TCP_HEADERS  54u
#define TCP_START    34u

static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];

static void begin(uint64_t features)
{
    fixture_prepare();
    fixture_begin();
    network_set_backlog(&fixture.network, BACKLOG);
    network_set_card(&fixture.network, &(struct network_card){.is_open = true});
    for (unsigned i = 0; i < STATIONS; i++) {
        station_start(i, features);
    }
    settle();
}

static enum network_reception arrive(uint8_t to, uint32_t number)
{
    const struct device_net_frame plain = {.bytes = FRAME_BYTES};

    make_frame(frame, FRAME_BYTES, to, CARD_STATION, number);
    return card_receive_waiting(&plain, frame);
}

static void expect(unsigned station, uint32_t number)
{
    assert_int_equal(station_receive(station, received), HEADER + FRAME_BYTES);
    assert_int_equal(check_frame(received + HEADER, FRAME_BYTES), number);
}

static void expect_none(unsigned station)
{
    assert_int_equal(station_receive(station, received), 0);
}

static uint64_t lost(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < STATIONS; i++) {
        count += fixture.network.bridge.counters[i + 1].sent.drops[FRAME_DROP_NO_BUFFER];
    }
    return count;
}

/* The frames that still wait are lost. */
static void end(void)
{
    fixture.now += WAIT_MAX;
    settle();
    assert_int_equal(fixture.waiting, 0);
    fixture_end();
}

static void test_waits_in_order(void **state)
{
    (void)state;
    begin(WHOLE);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(arrive(1, i), NETWORK_WAITS);
    }
    settle();
    expect_none(0);
    station_expose(0, 1, 2048);
    assert_int_equal(arrive(1, 3), NETWORK_WAITS); /* behind the others, though there is a buffer */
    settle();
    expect(0, 0);
    expect_none(0);
    station_expose(0, 5, 2048);
    settle();
    for (uint32_t i = 1; i < 4; i++) {
        expect(0, i);
    }
    assert_int_equal(arrive(1, 4), NETWORK_RECEIVED);
    expect(0, 4);
    assert_int_equal(fixture.waiting, 0);
    assert_int_equal(lost(), 0);
    end();
}

/* A client's share is bounded, and none of the others'. */
static void test_share(void **state)
{
    (void)state;
    begin(WHOLE);
    station_expose(1, 1, 2048);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(arrive(1, i), NETWORK_WAITS);
    }
    assert_int_equal(arrive(1, 4), NETWORK_RECEIVED); /* lost */
    assert_int_equal(lost(), 1);
    assert_int_equal(arrive(2, 5), NETWORK_RECEIVED);
    expect(1, 5);
    assert_int_equal(arrive(3, 6), NETWORK_WAITS);
    station_expose(0, 4, 2048);
    settle();
    for (uint32_t i = 0; i < 4; i++) {
        expect(0, i);
    }
    end();
}

static void test_number_of_frames(void **state)
{
    (void)state;
    begin(WHOLE);
    network_set_backlog(&fixture.network, 1000 * FRAME_BYTES);
    for (uint32_t i = 0; i < NETWORK_WAITING_MAX; i++) {
        assert_int_equal(arrive(1, i), NETWORK_WAITS);
    }
    assert_int_equal(arrive(1, 0), NETWORK_RECEIVED);
    assert_int_equal(lost(), 1);
    end();
}

static void test_waits_no_longer(void **state)
{
    (void)state;
    begin(WHOLE);
    assert_int_equal(network_due(&fixture.network), UINT64_MAX);
    assert_int_equal(arrive(1, 0), NETWORK_WAITS);
    assert_int_equal(network_due(&fixture.network), fixture.now + WAIT_MAX);
    fixture.now += MILLISECOND;
    assert_int_equal(arrive(1, 1), NETWORK_WAITS);
    fixture.now += WAIT_MAX - MILLISECOND;
    settle();
    assert_int_equal(lost(), 1);
    assert_int_equal(fixture.waiting, 1);
    station_expose(0, 2, 2048);
    settle();
    expect(0, 1);
    expect_none(0);
    end();
}

/* The driver is asked to notify of buffers only while frames wait for them. */
static void test_sleep(void **state)
{
    struct virtqueue *buffers = &fixture.stations[0].queues[DEVICE_NET_RECEIVE];
    uint8_t byte = 0;
    const struct virtqueue_segment small = {virtio_platform_dma_address(received), 2048};

    (void)state;
    begin(WHOLE);
    assert_true(network_sleep(&fixture.network));
    assert_true(virtqueue_add(buffers, &small, 0, 1, &byte));
    assert_false(virtqueue_publish(buffers));
    network_wake(&fixture.network);
    settle();
    assert_int_equal(arrive(1, 0), NETWORK_RECEIVED);
    assert_ptr_equal(virtqueue_take(buffers, &(uint32_t){0}), &byte);
    assert_int_equal(arrive(1, 1), NETWORK_WAITS);
    settle();
    assert_true(network_sleep(&fixture.network));
    assert_true(virtqueue_add(buffers, &small, 0, 1, &byte));
    assert_true(virtqueue_publish(buffers)); /* the driver notifies */
    assert_false(network_sleep(&fixture.network));
    network_wake(&fixture.network);
    settle();
    assert_ptr_equal(virtqueue_take(buffers, &(uint32_t){0}), &byte);
    assert_true(network_sleep(&fixture.network));
    end();
}

static void test_reset(void **state)
{
    (void)state;
    begin(WHOLE);
    assert_int_equal(arrive(1, 0), NETWORK_WAITS);
    station_reset(0);
    settle();
    assert_int_equal(fixture.waiting, 0);
    station_free(0);
    station_start(0, WHOLE);
    station_expose(0, 2, 2048);
    settle();
    expect_none(0);
    end();
}

/* Frames of several receivers, and those of clients, are lost as before. */
static void test_others_do_not_wait(void **state)
{
    static const uint8_t header[HEADER];

    (void)state;
    begin(WHOLE);
    station_expose(1, 2, 2048);
    assert_int_equal(arrive(0xff, 0), NETWORK_RECEIVED);
    expect(1, 0);
    make_frame(frame, FRAME_BYTES, 1, 2, 1);
    assert_non_null(station_send(1, header, frame, FRAME_BYTES, false));
    settle();
    assert_int_equal(station_sent(1), 1);
    assert_int_equal(fixture.waiting, 0);
    network_set_backlog(&fixture.network, 0);
    assert_int_equal(arrive(1, 2), NETWORK_RECEIVED);
    end();
}

/* A frame of several segments for a client that does not take it whole. Each segment arrives once.
 */
static void test_segments(void **state)
{
    const struct device_net_frame large = {
        .bytes = TCP_HEADERS + 5000,
        .checksum_partial = true,
        .checksum_start = TCP_START,
        .checksum_offset = 16,
        .gso = DEVICE_NET_GSO_TCPV4,
        .gso_bytes = 1000,
        .header_bytes = TCP_HEADERS,
    };
    unsigned segments = 0;

    (void)state;
    begin(PLAIN);
    network_set_backlog(&fixture.network, 10000);
    make_frame(frame, large.bytes, 1, CARD_STATION, 1);
    memcpy(frame + 12, "\x08\0\x45\0", 4);
    memset(frame + 16, 0, 18);
    frame[23] = 6;
    frame[TCP_START + 12] = 0x50;
    station_expose(0, 2, 2048);
    assert_int_equal(card_receive_waiting(&large, frame), NETWORK_WAITS);
    for (unsigned turns = 0; turns < 5; turns++) {
        uint32_t bytes;

        while ((bytes = station_receive(0, received)) != 0) {
            assert_memory_equal(received + bytes - 1000, frame + TCP_HEADERS + 1000 * segments,
                                1000);
            segments++;
        }
        station_expose(0, 1, 2048);
        (void)turn_round(1);
    }
    settle();
    assert_int_equal(segments + (station_receive(0, received) != 0), 5);
    assert_int_equal(fixture.waiting, 0);
    assert_int_equal(lost(), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_in_order),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_number_of_frames),
        cmocka_unit_test(test_waits_no_longer),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_others_do_not_wait),
        cmocka_unit_test(test_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
