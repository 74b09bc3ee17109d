/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about offloads, on a wire that carries the network header. */
#include "cases.h"
#include "frames.h"

#define NEEDS_CHECKSUM 1u

/* 5.1.6.2: the driver requests a checksum that the sender leaves to the device, at the right place.
 * Without the feature it refuses such a packet. */
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

/* 5.1.6.4: with GUEST_CSUM the driver reports a frame without a checksum as valid, but no other
 * frame, and without the feature none. */
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
        assert_int_equal(station->checksum,
                         partial ? VIRTIO_NET_CHECKSUM_PARTIAL : VIRTIO_NET_CHECKSUM_UNKNOWN);
        if (partial) {
            assert_int_equal(station->checksum_start, STATION_CHECKSUM_START);
            assert_int_equal(station->checksum_offset, STATION_CHECKSUM_OFFSET);
        }
    }
    station->far_sends = (struct station_header){0};
}

#define GSO_BYTES 1400u

static const enum virtio_net_gso types[] = {VIRTIO_NET_GSO_TCPV4, VIRTIO_NET_GSO_TCPV6};
static const uint32_t large_sizes[] = {1600, 2036, 2037, 4084, 4085, 9000, 20001, 40000, 65535};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 5.1.6.2: TCP segments of up to 64 KiB leave in one chain and arrive complete, with a header that
 * says how to segment them. Without the feature the driver refuses them. Plain frames are sent in
 * between. */
static void segments_transmitted(struct station *station)
{
    static const uint64_t features[] = {VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_HOST_TSO6};

    station_start(station);
    for (unsigned i = 0; i < COUNT(large_sizes) * 4; i++) {
        enum virtio_net_gso type = types[i % 2];
        bool agreed = (station->setting->expect & features[i % 2]) != 0;
        /* The first piece holds the headers. */
        unsigned pieces = 1 + i * 5 % (large_sizes[i / 4] < 2000 ? 20 : STATION_PIECES_MAX);
        bool sent = station_send_large(station, large_sizes[i / 4], pieces, type, GSO_BYTES);

        assert_int_equal(sent, agreed);
        virtio_net_flush(station->net);
        station_until(station, station->arrived == station->sent);
        if (sent) {
            assert_int_equal(station->far_got.gso_type, type);
            assert_int_equal(station->far_got.gso_bytes, GSO_BYTES);
            assert_in_range(station->far_got.header_bytes, frame_headers(type), large_sizes[i / 4]);
            assert_int_equal(station->far_got.flags, NEEDS_CHECKSUM);
            assert_int_equal(station->far_got.checksum_start, frame_transport(type));
            assert_int_equal(station->far_got.checksum_offset, STATION_TCP_CHECKSUM);
        }
        assert_true(station_send(station, 100, 1 + i % 3));
        virtio_net_flush(station->net);
        station_until(station, station->arrived == station->sent);
        assert_int_equal(station->far_got.gso_type, 0);
    }
}

/* 5.1.6.4: several TCP segments arrive as one complete frame, in as many buffers as it needs, and
 * reported as valid. Plain frames arrive in between. */
static void segments_received(struct station *station)
{
    static const uint64_t features[] = {VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_TSO6};

    station_start(station);
    for (unsigned i = 0; i < COUNT(large_sizes) * 4; i++) {
        enum virtio_net_gso type = types[i % 2];

        if ((station->setting->expect & features[i % 2]) == 0) {
            continue;
        }
        station->far_sends = (struct station_header){
            .flags = NEEDS_CHECKSUM,
            .gso_type = (uint8_t)type,
            .header_bytes = frame_headers(type),
            .gso_bytes = GSO_BYTES,
            .checksum_start = frame_transport(type),
            .checksum_offset = STATION_TCP_CHECKSUM,
        };
        assert_true(station_inject_large(station, large_sizes[i / 4], type));
        station_until(station, station->received == station->injected);
        assert_int_equal(station->frame_bytes, large_sizes[i / 4]);
        assert_int_equal(station->checksum, VIRTIO_NET_CHECKSUM_PARTIAL);
        assert_int_equal(station->checksum_start, frame_transport(type));
        assert_int_equal(station->checksum_offset, STATION_TCP_CHECKSUM);
        station->far_sends = (struct station_header){0};
        assert_true(station_inject(station, 100 + i));
        station_until(station, station->received == station->injected);
        assert_int_equal(station->checksum, VIRTIO_NET_CHECKSUM_UNKNOWN);
    }
    station_exchange(station, 50, 3);
}

/* 5.1.6.4: frames that fill one buffer, one byte more, and all buffers; then all sizes mixed, more
 * than there are buffers for at once. */
static void merged(struct station *station)
{
    uint32_t room = (uint32_t)STATION_BUFFER_BYTES;

    station_start(station);
    for (uint32_t bytes = 60; bytes <= 65535; bytes += bytes % 4 == 0 ? 509 : 1022) {
        assert_true(station_inject(station, bytes));
        station_until(station, station->received == station->injected);
        assert_int_equal(station->frame_bytes, bytes);
        assert_int_equal(station->frame_buffers,
                         (bytes + VIRTIO_NET_HEADER_BYTES + room - 1) / room);
    }
    for (unsigned i = 0; i < 60; i++) {
        (void)station_inject(station, large_sizes[i % COUNT(large_sizes)]);
        (void)station_inject(station, 60 + i);
        if (i % 7 == 0) {
            station_serve(station, true);
        }
    }
    station_until(station, station->received == station->injected);
    station_exchange(station, 50, 3);
}

const struct device_case offload_cases[] = {
    {"segments_transmitted", segments_transmitted},
    {"segments_received", segments_received},
    {"merged", merged},
    {"checksum_transmitted", checksum_transmitted},
    {"checksum_received", checksum_received},
    {0},
};
