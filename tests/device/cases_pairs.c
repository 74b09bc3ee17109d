/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about several queue pairs of one device (5.1.2, 5.1.6.5.6). */
#include "cases.h"

/* Frames that each pair has moved so far. */
struct moved {
    uint64_t sent;
    uint32_t steered;
};

static unsigned steered_pairs(struct station *station, const struct moved *before, unsigned count)
{
    unsigned steered = 0;

    for (unsigned i = 0; i < station_pairs(station); i++) {
        assert_int_equal(station_statistics(&station[i]).tx_frames, before[i].sent + count);
        steered += station[i].steered == before[i].steered + count;
    }
    return steered;
}

/* The far end gets a frame of each flow twice. When the second one arrives it knows the pair that
 * the first came from. */
static void introduce(struct station *station)
{
    for (unsigned i = 0; i < 2 * station_pairs(station); i++) {
        struct station *pair = &station[i / 2];

        assert_true(station_send(pair, STATION_FRAME_MIN, 1));
        virtio_net_flush(pair->net);
        station_until(station, pair->arrived == pair->sent);
    }
}

/* Frames go out and come in on each pair. The far end uses another pair for a flow that was silent
 * for long, so this may take several attempts. */
static void exchange(struct station *station, unsigned count)
{
    struct moved before[STATION_PAIRS_MAX] = {0};
    uint64_t started = virtio_platform_now();

    introduce(station);
    do {
        if (virtio_platform_now() - started > STATION_PATIENCE) {
            station_describe(station);
            fail_msg("frames do not arrive on the pair of their flow");
        }
        for (unsigned i = 0; i < station_pairs(station); i++) {
            before[i].sent = station_statistics(&station[i]).tx_frames;
            before[i].steered = station[i].steered;
        }
        station_exchange(station, count, VIRTIO_NET_SEGMENTS_MAX);
    } while (steered_pairs(station, before, count) != station_pairs(station));
}

static void pairs_traffic(struct station *station)
{
    station_start(station);
    exchange(station, 100);
    exchange(station, 20);
}

/* 2.4.1: every pair is full of frames both ways when the driver resets the device. */
static void pairs_reset(struct station *station)
{
    for (unsigned round = 0; round < 5; round++) {
        station_start(station);
        exchange(station, 10);
        for (unsigned i = 0; i < 40 + 13 * round; i++) {
            struct station *pair = &station[i % station_pairs(station)];

            (void)station_send(pair, 200 + i, 1 + i % 4);
            (void)station_inject(pair, 300 + i);
            if (i % 5 == round) {
                virtio_net_flush(pair->net);
            }
        }
        for (unsigned i = 0; i < round; i++) {
            station_serve(station, false);
        }
        station_stop(station);
        station_clear_wire(station);
    }
    station_start(station);
    station_clear_wire(station);
    exchange(station, 20);
}

const struct device_case pairs_cases[] = {
    {"pairs_traffic", pairs_traffic},
    {"pairs_reset", pairs_reset},
    {0},
};
