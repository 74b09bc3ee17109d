/* SPDX-License-Identifier: BSD-2-Clause */
/* The far end of a station's wire (station.h), and the exchange of frames. */
#include "station.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool station_arrive(struct station *station)
{
    static uint8_t frame[STATION_FRAME_BYTES];
    size_t header = station->setting->vnet ? sizeof(station->far_got) : 0;
    ssize_t bytes = recv(station->setting->wire, frame, sizeof(frame), MSG_DONTWAIT);
    struct station *owner;

    if (bytes < 0) {
        assert_true(errno == EAGAIN);
        return false;
    }
    assert_true((size_t)bytes > header);
    memcpy(&station->far_got, frame, header);
    if (frame[header + 12] == 0x80 && frame[header + 13] == 0x35) {
        return true; /* RARP: QEMU also announces the station itself */
    }
    owner = station_of_flow(station, frame_kind(frame + header, true).flow);
    frame_count(frame + header, (uint32_t)((size_t)bytes - header), &owner->arrived,
                owner->stale_arrivals, true);
    return true;
}

static bool inject(struct station *station, uint32_t bytes, struct frame_kind kind)
{
    static uint8_t frame[STATION_FRAME_BYTES];
    size_t header = station->setting->vnet ? sizeof(station->far_sends) : 0;

    assert_true(header + bytes <= sizeof(frame));
    memcpy(frame, &station->far_sends, header);
    kind.flow = station->flow;
    frame_make(frame + header, bytes, station->injected, kind);
    if (send(station->setting->wire, frame, header + bytes, MSG_DONTWAIT) < 0) {
        assert_true(errno == EAGAIN || errno == ENOBUFS);
        return false;
    }
    station->injected++;
    return true;
}

bool station_inject_large(struct station *station, uint32_t bytes, enum virtio_net_gso type)
{
    return inject(station, bytes, (struct frame_kind){.type = type});
}

bool station_inject_tagged(struct station *station, uint32_t bytes, uint16_t vlan)
{
    return inject(station, bytes, (struct frame_kind){.tagged = true, .vlan = vlan});
}

bool station_inject(struct station *station, uint32_t bytes)
{
    return inject(station, bytes, (struct frame_kind){0});
}

void station_clear_wire(struct station *station)
{
    static uint8_t frame[STATION_FRAME_BYTES];

    qtest_wait(0);
    while (recv(station->setting->wire, frame, sizeof(frame), MSG_DONTWAIT) >= 0) {
    }
    for (struct station *each = station; each < station + station_pairs(station); each++) {
        each->arrived = each->stale_arrivals = each->sent;
        each->received = each->stale_frames = each->injected;
    }
}

static uint32_t size_of_frame(uint32_t number)
{
    static const uint32_t edges[] = {STATION_FRAME_MIN, 61, 64, 127, 128, 1000, 1513,
                                     STATION_FRAME_MAX};

    return edges[number % (sizeof(edges) / sizeof(edges[0]))];
}

/* Moves one more frame each way on one pair. Returns true once both have enough. */
static bool exchange(struct station *station, unsigned segments)
{
    if (station->sent != station->send_up_to) {
        (void)station_send(station, size_of_frame(station->sent), 1 + station->sent % segments);
    }
    if (station->sent % 3 == 0 || station->sent == station->send_up_to) {
        virtio_net_flush(station->net);
    }
    if (station->injected != station->inject_up_to) {
        (void)station_inject(station, size_of_frame(station->injected));
    }
    return station->sent == station->send_up_to && station->injected == station->inject_up_to;
}

static bool everything_arrived(const struct station *station)
{
    unsigned arrived = 0;

    for (unsigned i = 0; i < station_pairs(station); i++) {
        arrived +=
            station[i].arrived == station[i].sent && station[i].received == station[i].injected;
    }
    return arrived == station_pairs(station);
}

void station_exchange(struct station *station, unsigned count, unsigned segments)
{
    unsigned pairs = station_pairs(station);
    uint64_t started = virtio_platform_now();
    unsigned done;

    /* Long chains do not fit into a small ring. */
    if (station->setting->tx_ring != 0 && station->setting->tx_ring < segments) {
        segments = station->setting->tx_ring;
    }
    for (unsigned i = 0; i < pairs; i++) {
        station[i].send_up_to = station[i].sent + count;
        station[i].inject_up_to = station[i].injected + count;
    }
    do {
        if (virtio_platform_now() - started > STATION_PATIENCE) {
            station_describe(station);
            fail_msg("the driver takes no frames");
        }
        done = 0;
        for (unsigned i = 0; i < pairs; i++) {
            done += exchange(&station[i], segments);
        }
        station_serve(station, true);
    } while (done != pairs);
    station_until(station, everything_arrived(station));
    for (unsigned i = 0; i < pairs; i++) {
        station_check_balance(&station[i]);
    }
}
