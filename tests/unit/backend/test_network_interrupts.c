/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when a client is interrupted: at once, later, or not at all (backend/network/interrupt.c).
 */
#include "network_fixture.h"

#define ALL                                                                                 \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX | VIRTIO_F_IN_ORDER | \
     DEVICE_NET_FEATURES)
#define MICROSECOND  UINT64_C(1000)
#define FRAME_BYTES  100u
#define CARD_STATION 0x80
#define DELAY        (200 * MICROSECOND)
#define ROUNDS       8u /* without a wanted interrupt, until one is delayed */

static uint8_t frame[FRAME_ROOM];

static struct virtqueue *received(void)
{
    return &fixture.stations[0].queues[DEVICE_NET_RECEIVE];
}

/* A frame arrives, `after` the last one. The driver takes it. */
static void arrive(uint64_t after)
{
    fixture.now += after;
    make_frame(frame, FRAME_BYTES, 1, CARD_STATION, 1);
    card_receive(frame, FRAME_BYTES);
}

static void take(void)
{
    assert_int_equal(station_receive(0, frame), HEADER + FRAME_BYTES);
}

static void begin(uint64_t features)
{
    fixture_prepare();
    fixture_begin();
    network_set_card(&fixture.network, &(struct network_card){.is_open = true});
    station_start(0, features);
    station_expose(0, 60, 2048);
    assert_true(virtqueue_enable(received(), 0));
    settle();
    fixture.stations[0].interrupts = 0;
}

/* The driver polls for a while. */
static void poll(void)
{
    virtqueue_suppress(received());
    for (unsigned i = 0; i < ROUNDS; i++) {
        arrive(200 * MICROSECOND);
        take();
    }
    assert_int_equal(fixture.stations[0].interrupts, 0);
}

static unsigned interrupts_after(uint64_t time)
{
    fixture.now += time;
    settle();
    return fixture.stations[0].interrupts;
}

static void test_driver_that_waits(void **state)
{
    (void)state;
    begin(ALL);
    for (unsigned i = 0; i < 3 * ROUNDS; i++) {
        assert_true(virtqueue_enable(received(), 0));
        arrive(10 * MICROSECOND);
        assert_int_equal(fixture.stations[0].interrupts, i + 1);
        take();
    }
    assert_true(network_sleep(&fixture.network));
    fixture_end();
}

/* The driver asks for interrupts, and asks for none before the delay has ended. */
static void test_not_wanted_any_more(uint64_t features)
{
    begin(features);
    poll();
    for (unsigned turns = 0; turns < 3; turns++) {
        assert_true(virtqueue_enable(received(), 0));
        arrive(200 * MICROSECOND);
        assert_int_equal(fixture.stations[0].interrupts, 0);
        assert_int_equal(network_due(&fixture.network), fixture.now + DELAY);
        virtqueue_suppress(received());
        arrive(50 * MICROSECOND);
        take();
        take();
        assert_int_equal(interrupts_after(DELAY), 0);
        assert_int_equal(network_due(&fixture.network), UINT64_MAX);
    }
    assert_int_equal(fixture.clients[0].statistics.interrupts_delayed, 3);
    fixture_end();
}

static void test_driver_that_polls(void **state)
{
    (void)state;
    test_not_wanted_any_more(ALL);
    test_not_wanted_any_more(ALL & ~VIRTIO_F_EVENT_IDX);
}

/* The driver has ceased to poll. The next interrupts come at once. */
static void test_still_wanted(uint64_t features)
{
    begin(features);
    poll();
    assert_true(virtqueue_enable(received(), 0));
    arrive(200 * MICROSECOND);
    assert_int_equal(interrupts_after(DELAY - 1), 0);
    assert_int_equal(interrupts_after(1), 1);
    assert_int_equal(interrupts_after(DELAY), 1);
    take();
    assert_true(virtqueue_enable(received(), 0));
    arrive(200 * MICROSECOND);
    assert_int_equal(fixture.stations[0].interrupts, 2);
    fixture_end();
}

static void test_driver_that_ceases_to_poll(void **state)
{
    (void)state;
    test_still_wanted(ALL);
    test_still_wanted(ALL & ~VIRTIO_F_EVENT_IDX);
}

/* Also if frames that follow were not what the driver wants an interrupt for. */
static void test_wanted_for_the_first_of_several(void **state)
{
    (void)state;
    begin(ALL);
    poll();
    assert_true(virtqueue_enable(received(), 0));
    arrive(200 * MICROSECOND);
    arrive(10 * MICROSECOND);
    arrive(10 * MICROSECOND);
    assert_int_equal(fixture.stations[0].interrupts, 0);
    assert_int_equal(interrupts_after(DELAY), 1);
    fixture_end();
}

static void test_pause(void **state)
{
    (void)state;
    begin(ALL);
    poll();
    assert_true(virtqueue_enable(received(), 0));
    arrive(5001 * MICROSECOND);
    assert_int_equal(fixture.stations[0].interrupts, 1);
    fixture_end();
}

static void test_reset_in_a_delay(void **state)
{
    (void)state;
    begin(ALL);
    poll();
    assert_true(virtqueue_enable(received(), 0));
    arrive(200 * MICROSECOND);
    station_reset(0);
    assert_int_equal(interrupts_after(DELAY), 0);
    assert_true(network_sleep(&fixture.network));
    station_free(0);
    fixture_end();
}

/* The next life of the back-end interrupts each client once. */
static void test_end_in_a_delay(void **state)
{
    (void)state;
    begin(ALL);
    poll();
    assert_true(virtqueue_enable(received(), 0));
    arrive(200 * MICROSECOND);
    fixture_begin();
    settle();
    assert_int_equal(fixture.stations[0].interrupts, 1);
    fixture_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_driver_that_waits),
        cmocka_unit_test(test_driver_that_polls),
        cmocka_unit_test(test_driver_that_ceases_to_poll),
        cmocka_unit_test(test_wanted_for_the_first_of_several),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_reset_in_a_delay),
        cmocka_unit_test(test_end_in_a_delay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
