/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about frames through the device. */
#include "cases.h"
#include "rules.h"

/* Frames of many sizes pass both ways at once, in 1 to 8 pieces. */
static void traffic(struct station *station)
{
    station_start(station);
    station_exchange(station, 200, VIRTIO_NET_SEGMENTS_MAX);
}

/* One frame at a time: each arrival needs its own interrupt, or its own notification. */
static void ping_pong(struct station *station)
{
    station_start(station);
    for (unsigned i = 0; i < 300; i++) {
        assert_true(station_inject(station, STATION_FRAME_MIN + i));
        station_until(station, station->received == station->injected);
        assert_int_equal(station->frame_bytes, STATION_FRAME_MIN + i);
        assert_true(station_send(station, STATION_FRAME_MIN + i, 1));
        virtio_net_flush(station->net);
        station_until(station, station->arrived == station->sent);
    }
}

/* The far end takes no frames: the ring fills, then the send queue, then the driver refuses frames.
 * When the far end takes frames again, every accepted frame arrives, in order. */
static void far_end_blocked(struct station *station)
{
    unsigned refused = 0;

    station_start(station);
    for (unsigned tries = 0; refused == 0; tries++) {
        assert_true(tries < 10000);
        if (!station_send(station, STATION_FRAME_MAX, 1 + tries % 3)) {
            refused++;
        }
        virtio_net_flush(station->net);
        station_serve(station, false);
        station_check_balance(station);
    }
    station_until(station, station->arrived == station->sent);
    station_exchange(station, 50, 2);
}

/* The owner runs out of receive buffers and gets them back: no frame is lost, and the ring is
 * filled again. */
static void buffers_exhausted(struct station *station)
{
    station_start(station);
    for (unsigned round = 0; round < 20; round++) {
        station->buffers_usable = round % 4;
        while (station_inject(station, 200) && station->injected % 50 != 0) {
            station_serve(station, true);
        }
        station->buffers_usable = STATION_BUFFERS;
        virtio_net_refill(station->net);
        station_until(station, station->received == station->injected);
        station_check_balance(station);
    }
}

/* Interrupts that nothing caused do no harm. */
static void spurious_interrupts(struct station *station)
{
    station_start(station);
    for (unsigned i = 0; i < 50; i++) {
        virtio_net_interrupt(station->net);
        virtio_net_configuration_interrupt(station->net);
        station_exchange(station, 4, 2);
    }
    assert_true(station_statistics(station).interrupts_spurious != 0);
}

/* The 16-bit indices wrap while varying numbers of frames are added at once. Other drivers decided
 * wrongly about notifications when several were added across the wrap. */
static void indices_wrap(struct station *station)
{
    uint64_t progress = virtio_platform_now();

    station_start(station);
    for (unsigned burst = 1; station->sent < 66000; burst = burst % 50 + 1) {
        for (unsigned i = 0; i < burst; i++) {
            if (station_send(station, STATION_FRAME_MIN, 1)) {
                progress = virtio_platform_now();
            }
        }
        if (virtio_platform_now() - progress > STATION_PATIENCE) {
            station_describe(station);
            fail_msg("the driver takes no frames");
        }
        virtio_net_flush(station->net);
        if (burst % 4 == 0) {
            station_serve(station, true);
        }
    }
    station_until(station, station->arrived == station->sent);
    station_exchange(station, 50, 3);
}

static struct station *current;
static bool window_used;

/* A frame arrives, and the device has finished it, just before the device can know that the driver
 * enables interrupts. */
static void arrive_unannounced(unsigned queue)
{
    unsigned before = rules_returned(0);
    uint64_t started = virtio_platform_now();

    if (queue != 0 || window_used) {
        return;
    }
    window_used = true;
    assert_true(station_inject(current, STATION_FRAME_MIN));
    while (rules_returned(0) == before) {
        assert_true(virtio_platform_now() - started < STATION_PATIENCE);
        qtest_wait(1);
    }
}

/* 2.7.7: the driver finds chains finished before interrupts were enabled without an interrupt.
 * Other drivers did not check a second time. */
static void sleep_window(struct station *station)
{
    station_start(station);
    station_exchange(station, 10, 1);
    current = station;
    for (unsigned round = 0; round < 20; round++) {
        window_used = false;
        rules_on_wish = arrive_unannounced;
        assert_true(station_inject(station, 100));
        station_until(station, window_used && station->received == station->injected);
        rules_on_wish = NULL;
    }
}

/* Far more frames than exposed buffers arrive at once: all arrive, and interrupts work afterwards.
 * In other drivers they stayed disabled after an overload. */
static void overload(struct station *station)
{
    station_start(station);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 500 && station_inject(station, 400 + i); i++) {
        }
        station_until(station, station->received == station->injected);
        for (unsigned i = 0; i < 5; i++) {
            assert_true(station_inject(station, 100));
            station_until(station, station->received == station->injected);
        }
    }
    assert_true(station_statistics(station).rx_exposed != 0);
}

/* An interrupt handles no more chains than its budget; the bottom half handles the rest. `count`:
 * the budget. */
static void bounded_interrupt(struct station *station)
{
    uint16_t budget = station->setting->count;

    station->parameters.interrupt_budget = budget;
    station_start(station);
    for (unsigned round = 0; round < 20; round++) {
        station_exchange(station, 40, 3);
    }
    assert_in_range(station_statistics(station).descriptors_moved_max, 1, budget);
}

/* Every size from the smallest to the largest frame. */
static void every_size(struct station *station)
{
    station_start(station);
    for (uint32_t bytes = STATION_FRAME_MIN; bytes <= STATION_FRAME_MAX; bytes += 7) {
        assert_true(station_send(station, bytes, 1 + bytes % VIRTIO_NET_SEGMENTS_MAX));
        virtio_net_flush(station->net);
        assert_true(station_inject(station, bytes));
        station_until(station,
                      station->arrived == station->sent && station->received == station->injected);
        assert_int_equal(station->frame_bytes, bytes);
    }
    assert_false(station_send(station, STATION_FRAME_MAX + 1, 1)); /* 5.1.4.2 */
}

const struct device_case traffic_cases[] = {
    {"traffic", traffic},
    {"ping_pong", ping_pong},
    {"far_end_blocked", far_end_blocked},
    {"buffers_exhausted", buffers_exhausted},
    {"spurious_interrupts", spurious_interrupts},
    {"indices_wrap", indices_wrap},
    {"overload", overload},
    {"sleep_window", sleep_window},
    {"bounded_interrupt", bounded_interrupt},
    {"every_size", every_size},
    {0},
};
