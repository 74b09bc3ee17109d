/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames through the device. */
#include "cases.h"

static void traffic(struct station *station)
{
    station_start(station);
    station_exchange(station, 200, VIRTIO_NET_SEGMENTS_MAX);
}

const struct device_case traffic_cases[] = {
    {"traffic", traffic},
    {0},
};
