/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * station SOCKET MODE BYTES CORE FORMAT [ENTRIES]: the driver as a vhost-user front-end, in one
 * thread that polls. FORMAT is the format of the rings, split or packed, and ENTRIES their size.
 * MODE is a forwarding mode of dpdk-testpmd. The station does the same work, in bursts of the same
 * size:
 * - txonly: take buffers from the pool, write Ethernet, IPv4 and UDP headers to each, transmit
 * them; return sent buffers to the pool;
 * - rxonly: receive, return the buffers to the pool, expose others from it;
 * - io: receive, transmit the same buffers, return sent buffers to the pool, expose others from it.
 * The station runs until its standard input ends. The back-end counts the packets.
 */
#define _GNU_SOURCE
#include "memory.h"
#include "vhost_user.h"
#include "virtio/net_burst.h"
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BURST           32u
#define ENTRIES_DEFAULT 256u
#define ENTRIES_MAX     1024u
#define BUFFERS         (4u * ENTRIES_MAX)
#define MTU             1504u /* frames of 1518 bytes without a checksum */
#define SHARED_BYTES    (32u << 20)
#define WAIT_MS         10000u
#define INPUT_ROUNDS    65536u /* rounds between two checks of standard input */

/* A frame starts at the beginning of a cache line, as with DPDK. The distance between two buffers
 * is an odd number of lines, so that the buffers are spread over all sets of a cache. */
#define LINE_BYTES   64u
#define FRONT_BYTES  (LINE_BYTES - VIRTIO_NET_HEADER_BYTES)
#define BUFFER_LINES 27u
#define CAPACITY     (BUFFER_LINES * LINE_BYTES - FRONT_BYTES)

struct __attribute__((packed)) headers {
    uint8_t ethernet[14];
    uint8_t ipv4[20];
    uint8_t udp[8];
};

struct station {
    struct vhost_user vhost;
    struct virtio_net *net;
    struct headers headers;
    uint32_t frame_bytes;
    unsigned entries; /* size of each ring */
    unsigned free_count;
    struct virtio_net_buffer *free[BUFFERS]; /* the pool, a stack */
    struct virtio_net_buffer buffers[BUFFERS];
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "station: %s\n", what);
    exit(1);
}

static void put(struct station *station, struct virtio_net_buffer *const *buffers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        station->free[station->free_count++] = buffers[i];
    }
}

/* Takes up to `count` buffers from the pool. Returns the number of buffers taken. */
static unsigned get(struct station *station, struct virtio_net_buffer **buffers, unsigned count)
{
    if (count > station->free_count) {
        count = station->free_count;
    }
    station->free_count -= count;
    for (unsigned i = 0; i < count; i++) {
        buffers[i] = station->free[station->free_count + i];
    }
    return count;
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    put(context, &buffer, 1);
}

static const struct virtio_net_operations operations = {.return_buffer = return_buffer};

/* Returns sent buffers to the pool, but only when the ring has no room for another burst.
 * dpdk-testpmd does the same. */
static void reclaim(struct station *station)
{
    struct virtio_net_buffer *buffers[BURST];

    if (virtio_net_transmitting(station->net) + BURST <= station->entries) {
        return;
    }
    put(station, buffers, virtio_net_transmitted_burst(station->net, buffers, BURST));
}

static void expose(struct station *station, unsigned count)
{
    struct virtio_net_buffer *buffers[BURST];
    unsigned exposed;

    count = get(station, buffers, count < BURST ? count : BURST);
    exposed = virtio_net_expose_burst(station->net, buffers, count);
    put(station, buffers + exposed, count - exposed);
}

static void round_txonly(struct station *station)
{
    struct virtio_net_buffer *buffers[BURST];
    unsigned count;
    unsigned sent;

    reclaim(station);
    count = get(station, buffers, BURST);
    for (unsigned i = 0; i < count; i++) {
        memcpy(buffers[i]->memory + VIRTIO_NET_HEADER_BYTES, &station->headers,
               sizeof(station->headers));
        buffers[i]->frame_bytes = station->frame_bytes;
    }
    sent = virtio_net_transmit_burst(station->net, buffers, count);
    put(station, buffers + sent, count - sent);
}

static void round_rxonly(struct station *station)
{
    struct virtio_net_buffer *buffers[BURST];
    unsigned count = virtio_net_receive_burst(station->net, buffers, BURST);

    put(station, buffers, count);
    expose(station, count);
}

static void round_io(struct station *station)
{
    struct virtio_net_buffer *buffers[BURST];
    unsigned count = virtio_net_receive_burst(station->net, buffers, BURST);
    unsigned sent;

    if (count == 0) {
        return;
    }
    reclaim(station);
    expose(station, count);
    sent = virtio_net_transmit_burst(station->net, buffers, count);
    put(station, buffers + sent, count - sent);
}

static const struct {
    const char *name;
    void (*round)(struct station *station);
} modes[] = {{"txonly", round_txonly}, {"rxonly", round_rxonly}, {"io", round_io}};

static void make_buffers(struct station *station)
{
    virtio_address address;
    uint8_t *memory =
        virtio_platform_dma_allocate((size_t)BUFFERS * BUFFER_LINES * LINE_BYTES, 64, &address);

    if (memory == NULL) {
        fail("there is not enough memory for the buffers");
    }
    for (unsigned i = 0; i < BUFFERS; i++) {
        struct virtio_net_buffer *buffer = &station->buffers[i];

        buffer->memory = memory + (size_t)i * BUFFER_LINES * LINE_BYTES + FRONT_BYTES;
        buffer->capacity = CAPACITY;
        put(station, &buffer, 1);
    }
}

static void make_headers(struct station *station)
{
    uint16_t ip_bytes = (uint16_t)(station->frame_bytes - 14);
    uint16_t udp_bytes = (uint16_t)(ip_bytes - 20);
    const struct headers headers = {
        .ethernet = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00},
        .ipv4 = {0x45,
                 0,
                 (uint8_t)(ip_bytes >> 8),
                 (uint8_t)ip_bytes,
                 0,
                 0,
                 0,
                 0,
                 64,
                 17,
                 0,
                 0,
                 198,
                 18,
                 0,
                 1,
                 198,
                 18,
                 0,
                 2},
        .udp = {0, 9, 0, 9, (uint8_t)(udp_bytes >> 8), (uint8_t)udp_bytes, 0, 0},
    };

    station->headers = headers;
}

static void stay_on(unsigned core)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof(cores), &cores) != 0) {
        fail("this machine does not have that core");
    }
}

static bool input_ended(void)
{
    char dropped[64];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&input, 1, 0) != 0 && read(STDIN_FILENO, dropped, sizeof(dropped)) <= 0;
}

static void run(struct station *station, void (*round)(struct station *station))
{
    for (uint32_t i = 1;; i++) {
        round(station);
        if (i % INPUT_ROUNDS == 0) {
            if (virtio_net_broken(station->net) != NULL) {
                fail(virtio_net_broken(station->net));
            }
            if (input_ended() || vhost_user_service(&station->vhost)) {
                return;
            }
        }
    }
}

static void start(struct station *station, const char *socket, bool packed, uint16_t entries)
{
    const struct vhost_user_options options = {
        .path = socket, .mac = {2, 0, 0, 0, 0, 1}, .mtu = MTU};
    const struct virtio_net_parameters parameters = {.rx_buffers = entries,
                                                     .tx_ring = entries,
                                                     .receive_bytes = CAPACITY,
                                                     .polling = true,
                                                     .features_off =
                                                         packed ? 0 : VIRTIO_F_RING_PACKED};
    const char *reason;

    if (!vhost_user_memory_open(SHARED_BYTES, true, &reason) ||
        !vhost_user_open(&station->vhost, &options, &reason)) {
        fail(reason);
    }
    if (!vhost_user_memory()->huge) {
        fail("no huge pages are available");
    }
    make_buffers(station);
    if (!vhost_user_connect(&station->vhost, WAIT_MS)) {
        fail("no back-end is connected");
    }
    station->net =
        virtio_net_create(&station->vhost.transport, &parameters, &operations, station, &reason);
    if (station->net == NULL) {
        fail(reason);
    }
    if (packed && (virtio_net_features(station->net) & VIRTIO_F_RING_PACKED) == 0) {
        fail("the back-end does not offer packed rings");
    }
    station->entries = entries;
    for (unsigned exposed = 0; exposed < entries; exposed += BURST) {
        expose(station, BURST);
    }
}

int main(int count, char **arguments)
{
    static struct station station;
    unsigned long entries = count > 6 ? strtoul(arguments[6], NULL, 10) : ENTRIES_DEFAULT;
    bool packed = count > 5 && strcmp(arguments[5], "packed") == 0;
    struct virtio_net_statistics statistics;

    if (count < 6 || entries > ENTRIES_MAX || (!packed && strcmp(arguments[5], "split") != 0)) {
        fail("usage: station SOCKET txonly|rxonly|io BYTES CORE split|packed [ENTRIES]");
    }
    station.frame_bytes = (uint32_t)strtoul(arguments[3], NULL, 10);
    make_headers(&station);
    stay_on((unsigned)strtoul(arguments[4], NULL, 10));
    start(&station, arguments[1], packed, (uint16_t)entries);
    puts("station: ready");
    (void)fflush(stdout);
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(arguments[2], modes[i].name) == 0) {
            run(&station, modes[i].round);
        }
    }
    virtio_net_statistics(station.net, &statistics);
    if (!virtio_net_stop(station.net) || station.free_count != BUFFERS) {
        fail("buffers were lost");
    }
    printf("station: sent %llu, received %llu, notified %llu times\n",
           (unsigned long long)statistics.tx_frames, (unsigned long long)statistics.rx_frames,
           (unsigned long long)statistics.notifications_tx + statistics.notifications_rx);
    virtio_net_free(station.net);
    vhost_user_close(&station.vhost);
    return 0;
}
