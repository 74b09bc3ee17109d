/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device does for the driver, on a wire that carries the network header. */
#include "cases.h"

#define NEEDS_CHECKSUM 1u

/* 5.1.6.2: a checksum that the sender leaves to the device is asked for at the right place; without
 * the feature the driver refuses such a packet. */
static void checksum_transmitted(struct station *station)
{
    bool agreed = (station->setting->expect & VIRTIO_NET_F_CSUM) != 0;

    station_start(station);
    for (unsigned i = 0; i < 50; i++) {
        station->leave_checksum = i % 2 != 0;
        if (station->leave_checksum && !agreed) {
            assert_false(station_send(station, 100 + i, 1));
            continue;
        }
        assert_true(station_send(station, 100 + i, 1 + i % 4));
        virtio_net_flush(station->net);
        station_until(station, station->arrived == station->sent);
        assert_int_equal(station->far_got.flags, station->leave_checksum ? NEEDS_CHECKSUM : 0);
        assert_int_equal(station->far_got.gso_type, 0);
        if (station->leave_checksum) {
            assert_int_equal(station->far_got.checksum_start, STATION_CHECKSUM_START);
            assert_int_equal(station->far_got.checksum_offset, STATION_CHECKSUM_OFFSET);
        }
    }
    station->leave_checksum = false;
}

/* 5.1.6.4: a frame that has no checksum yet is vouched for with GUEST_CSUM; any other is not, nor
 * is any without the feature. */
static void checksum_received(struct station *station)
{
    bool agreed = (station->setting->expect & VIRTIO_NET_F_GUEST_CSUM) != 0;

    station_start(station);
    for (unsigned i = 0; i < 50; i++) {
        bool partial = agreed && i % 2 != 0;

        station->far_sends = (struct station_header){0};
        if (partial) {
            station->far_sends.flags = NEEDS_CHECKSUM;
            station->far_sends.checksum_start = STATION_CHECKSUM_START;
            station->far_sends.checksum_offset = STATION_CHECKSUM_OFFSET;
        }
        assert_true(station_inject(station, 100 + i));
        station_until(station, station->received == station->injected);
        assert_int_equal(station->checksum_valid, partial);
    }
    station->far_sends = (struct station_header){0};
}

const struct device_case offload_cases[] = {
    {"checksum_transmitted", checksum_transmitted},
    {"checksum_received", checksum_received},
    {0},
};
