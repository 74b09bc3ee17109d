/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * round_trip SOCKET FRAMES PAIRS [server] [huge]: the driver library as a vhost-user front-end with
 * that many queue pairs. Sends that many frames on each pair to a back-end that sends each one back
 * on the same pair, and compares what returns, which is in order. Then it stops, takes everything
 * back, and begins anew, as often as ROUNDS says. Interrupts arrive as eventfds.
 */
#include "memory.h"
#include "vhost_user.h"
#include "virtio/net.h"
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS       2u
#define BUFFERS      64u
#define PACKETS      64u
#define WINDOW       32u /* frames on the way at a time: a back-end drops what finds no buffer */
#define BUFFER_BYTES 1536u
#define WAIT_MS      10000
#define FRAME_MIN    60u
#define FRAME_MAX    1514u
#define PAIRS_MAX    4u
#define SHARED_BYTES (4u << 20)

/* A queue pair, and what it has of its own. */
struct lane {
    struct virtio_net *net;
    unsigned index;
    struct virtio_net_buffer buffers[BUFFERS];
    struct virtio_net_packet packets[PACKETS];
    struct virtio_net_buffer *free_buffers;
    struct virtio_net_packet *free_packets;
    bool signalled;
    uint32_t frames;
    uint32_t sent;
    uint32_t received;
};

struct station {
    struct vhost_user vhost;
    struct lane lanes[PAIRS_MAX];
    unsigned pairs;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "round_trip: %s\n", what);
    exit(1);
}

static struct virtio_net_buffer *take_buffer(void *context)
{
    struct lane *lane = context;
    struct virtio_net_buffer *buffer = lane->free_buffers;

    if (buffer != NULL) {
        lane->free_buffers = buffer->next;
    }
    return buffer;
}

static void put_buffer(void *context, struct virtio_net_buffer *buffer)
{
    struct lane *lane = context;

    buffer->next = lane->free_buffers;
    lane->free_buffers = buffer;
}

static void put_packet(struct lane *lane, struct virtio_net_packet *packet)
{
    packet->next = lane->free_packets;
    lane->free_packets = packet;
}

static void wake(void *context)
{
    ((struct lane *)context)->signalled = true;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = take_buffer,
    .return_buffer = put_buffer,
    .signal = wake,
};

static void *shared(size_t bytes)
{
    virtio_address unused;
    void *memory = virtio_platform_dma_allocate(bytes, 64, &unused);

    if (memory == NULL) {
        fail("no shared memory");
    }
    return memory;
}

static void make_pools(struct lane *lane)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        lane->buffers[i].memory = shared(BUFFER_BYTES);
        lane->buffers[i].capacity = BUFFER_BYTES;
        put_buffer(lane, &lane->buffers[i]);
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        struct virtio_net_segment *segment = &lane->packets[i].segment[0];

        segment->memory = (uint8_t *)shared(BUFFER_BYTES) + VIRTIO_NET_HEADER_BYTES;
        lane->packets[i].segment_count = 1;
        put_packet(lane, &lane->packets[i]);
    }
}

static void free_pools(struct lane *lane)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        virtio_platform_dma_free(lane->buffers[i].memory, BUFFER_BYTES);
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        virtio_platform_dma_free(lane->packets[i].segment[0].memory - VIRTIO_NET_HEADER_BYTES,
                                 BUFFER_BYTES);
    }
}

static uint32_t frame_bytes(uint32_t number)
{
    return FRAME_MIN + number * 7919u % (FRAME_MAX - FRAME_MIN + 1);
}

static uint8_t frame_byte(const struct lane *lane, uint32_t number, uint32_t position)
{
    return position == 0 ? 0x02 : (uint8_t)(number + position * 31u + lane->index * 101u);
}

static void send_frames(struct lane *lane)
{
    while (lane->sent < lane->frames && lane->sent - lane->received < WINDOW &&
           lane->free_packets != NULL) {
        struct virtio_net_packet *packet = lane->free_packets;
        struct virtio_net_segment *segment = &packet->segment[0];

        lane->free_packets = packet->next;
        segment->bytes = frame_bytes(lane->sent);
        for (uint32_t i = 0; i < segment->bytes; i++) {
            segment->memory[i] = frame_byte(lane, lane->sent, i);
        }
        if (!virtio_net_transmit(lane->net, packet)) {
            put_packet(lane, packet);
            break;
        }
        lane->sent++;
    }
    virtio_net_flush(lane->net);
}

static void receive_frames(struct lane *lane)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = virtio_net_receive(lane->net)) != NULL) {
        if (buffer->frame_bytes != frame_bytes(lane->received)) {
            fail("a frame came back with another length");
        }
        for (uint32_t i = 0; i < buffer->frame_bytes; i++) {
            if (buffer->memory[VIRTIO_NET_HEADER_BYTES + i] !=
                frame_byte(lane, lane->received, i)) {
                fail("a frame came back with other bytes");
            }
        }
        lane->received++;
        put_buffer(lane, buffer);
    }
    virtio_net_refill(lane->net);
}

static void bottom_half(struct lane *lane)
{
    struct virtio_net_packet *packet;

    do {
        lane->signalled = false;
        receive_frames(lane);
        while ((packet = virtio_net_transmitted(lane->net)) != NULL) {
            put_packet(lane, packet);
        }
        if (virtio_net_link_changed(lane->net) && !virtio_net_link_up(lane->net)) {
            fail("the link went down");
        }
        if (virtio_net_broken(lane->net) != NULL) {
            fail(virtio_net_broken(lane->net));
        }
    } while (virtio_net_bottom_half(lane->net));
}

/* Vector 1 + i is queue i's: each pair has two. */
static void wait_for_interrupt(struct station *station)
{
    unsigned count = 1 + 2 * station->pairs;
    struct pollfd vectors[1 + 2 * PAIRS_MAX];

    for (unsigned i = 0; i < count; i++) {
        vectors[i] = (struct pollfd){.fd = vhost_user_vector(&station->vhost, i), .events = POLLIN};
    }
    if (poll(vectors, count, WAIT_MS) <= 0) {
        fail("nothing comes back");
    }
    if (vectors[0].revents != 0 && vhost_user_service(&station->vhost)) {
        virtio_net_configuration_interrupt(station->lanes[0].net);
        station->lanes[0].signalled = true;
    }
    for (unsigned i = 1; i < count; i++) {
        if (vectors[i].revents != 0) {
            vhost_user_acknowledge(&station->vhost, i);
            virtio_net_interrupt(station->lanes[(i - 1) / 2].net);
        }
    }
}

static void check_statistics(struct lane *lane)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(lane->net, &statistics);
    printf("round_trip: pair %u: %u frames, %llu interrupts, %llu + %llu notifications\n",
           lane->index, lane->received, (unsigned long long)statistics.interrupts,
           (unsigned long long)statistics.notifications_tx,
           (unsigned long long)statistics.notifications_rx);
    if (statistics.tx_accepted != statistics.tx_returned ||
        statistics.rx_buffers_taken != statistics.rx_buffers_returned) {
        fail("the counters do not balance");
    }
}

static void start(struct station *station)
{
    void *contexts[PAIRS_MAX];
    const struct virtio_net_parameters parameters = {
        .rx_buffers = WINDOW, .queue_pairs = (uint16_t)station->pairs, .contexts = contexts};
    struct virtio_net *net;
    const char *reason;

    for (unsigned i = 0; i < station->pairs; i++) {
        contexts[i] = &station->lanes[i];
    }
    net = virtio_net_create(&station->vhost.transport, &parameters, &operations, &station->lanes[0],
                            &reason);
    if (net == NULL) {
        fail(reason);
    }
    for (unsigned i = 0; i < station->pairs; i++) {
        struct lane *lane = &station->lanes[i];

        lane->net = virtio_net_pair(net, i);
        if (lane->net == NULL) {
            fail("the back-end has fewer queue pairs");
        }
        lane->sent = 0;
        lane->received = 0;
        lane->signalled = true;
    }
}

static void end(struct station *station)
{
    struct virtio_net_packet *packet;

    if (!virtio_net_stop(station->lanes[0].net)) {
        fail("the back-end does not stop");
    }
    for (unsigned i = 0; i < station->pairs; i++) {
        struct lane *lane = &station->lanes[i];

        while ((packet = virtio_net_transmitted(lane->net)) != NULL) {
            put_packet(lane, packet);
        }
        check_statistics(lane);
    }
    virtio_net_free(station->lanes[0].net);
}

static void run_round(struct station *station)
{
    bool waiting;

    start(station);
    do {
        bool signalled = false;

        waiting = false;
        for (unsigned i = 0; i < station->pairs; i++) {
            struct lane *lane = &station->lanes[i];

            if (lane->signalled) {
                bottom_half(lane);
            }
            send_frames(lane);
            signalled = signalled || lane->signalled;
            waiting = waiting || lane->received < lane->frames;
        }
        if (waiting && !signalled) {
            wait_for_interrupt(station);
        }
    } while (waiting);
    end(station);
}

static bool has_option(int count, char **arguments, const char *option)
{
    for (int i = 4; i < count; i++) {
        if (strcmp(arguments[i], option) == 0) {
            return true;
        }
    }
    return false;
}

static void make_lanes(struct station *station, const char *frames)
{
    for (unsigned i = 0; i < station->pairs; i++) {
        station->lanes[i].index = i;
        station->lanes[i].frames = (uint32_t)strtoul(frames, NULL, 10);
        make_pools(&station->lanes[i]);
    }
}

int main(int count, char **arguments)
{
    static struct station station;
    struct vhost_user_options options = {.mac = {2, 0, 0, 0, 0, 1}};
    const char *reason;

    station.pairs = count > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 0;
    if (station.pairs == 0 || station.pairs > PAIRS_MAX) {
        fail("usage: round_trip SOCKET FRAMES PAIRS [server] [huge]");
    }
    options.path = arguments[1];
    options.server = has_option(count, arguments, "server");
    options.queue_pairs = (uint16_t)station.pairs;
    if (!vhost_user_memory_open(SHARED_BYTES, has_option(count, arguments, "huge"), &reason) ||
        !vhost_user_open(&station.vhost, &options, &reason)) {
        fail(reason);
    }
    make_lanes(&station, arguments[2]);
    if (!vhost_user_connect(&station.vhost, WAIT_MS)) {
        fail("there is no back-end");
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_round(&station);
    }
    vhost_user_close(&station.vhost);
    for (unsigned i = 0; i < station.pairs; i++) {
        free_pools(&station.lanes[i]);
    }
    if (vhost_user_memory_free_bytes() != vhost_user_memory()->bytes) {
        fail("shared memory was lost");
    }
    vhost_user_memory_close();
    return 0;
}
