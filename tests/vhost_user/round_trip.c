/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * round_trip SOCKET FRAMES [server] [huge]: the driver library as a vhost-user front-end. Sends
 * that many frames to a back-end that sends each one back, and compares what returns, which is in
 * order. Then it stops, takes everything back, and begins anew, as often as ROUNDS says. Interrupts
 * arrive as eventfds.
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
#define SHARED_BYTES (4u << 20)

struct station {
    struct vhost_user vhost;
    struct virtio_net *net;
    struct virtio_net_buffer buffers[BUFFERS];
    struct virtio_net_packet packets[PACKETS];
    struct virtio_net_buffer *free_buffers;
    struct virtio_net_packet *free_packets;
    bool signalled;
    uint32_t frames;
    uint32_t sent;
    uint32_t received;
};

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "round_trip: %s\n", what);
    exit(1);
}

static struct virtio_net_buffer *take_buffer(void *context)
{
    struct station *station = context;
    struct virtio_net_buffer *buffer = station->free_buffers;

    if (buffer != NULL) {
        station->free_buffers = buffer->next;
    }
    return buffer;
}

static void put_buffer(void *context, struct virtio_net_buffer *buffer)
{
    struct station *station = context;

    buffer->next = station->free_buffers;
    station->free_buffers = buffer;
}

static void put_packet(struct station *station, struct virtio_net_packet *packet)
{
    packet->next = station->free_packets;
    station->free_packets = packet;
}

static void wake(void *context)
{
    ((struct station *)context)->signalled = true;
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

static void make_pools(struct station *station)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        station->buffers[i].memory = shared(BUFFER_BYTES);
        station->buffers[i].capacity = BUFFER_BYTES;
        put_buffer(station, &station->buffers[i]);
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        struct virtio_net_segment *segment = &station->packets[i].segment[0];

        segment->memory = (uint8_t *)shared(BUFFER_BYTES) + VIRTIO_NET_HEADER_BYTES;
        station->packets[i].segment_count = 1;
        put_packet(station, &station->packets[i]);
    }
}

static void free_pools(struct station *station)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        virtio_platform_dma_free(station->buffers[i].memory, BUFFER_BYTES);
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        virtio_platform_dma_free(station->packets[i].segment[0].memory - VIRTIO_NET_HEADER_BYTES,
                                 BUFFER_BYTES);
    }
}

static uint32_t frame_bytes(uint32_t number)
{
    return FRAME_MIN + number * 7919u % (FRAME_MAX - FRAME_MIN + 1);
}

static uint8_t frame_byte(uint32_t number, uint32_t position)
{
    return position == 0 ? 0x02 : (uint8_t)(number + position * 31u);
}

static void send_frames(struct station *station)
{
    while (station->sent < station->frames && station->sent - station->received < WINDOW &&
           station->free_packets != NULL) {
        struct virtio_net_packet *packet = station->free_packets;
        struct virtio_net_segment *segment = &packet->segment[0];

        station->free_packets = packet->next;
        segment->bytes = frame_bytes(station->sent);
        for (uint32_t i = 0; i < segment->bytes; i++) {
            segment->memory[i] = frame_byte(station->sent, i);
        }
        if (!virtio_net_transmit(station->net, packet)) {
            put_packet(station, packet);
            break;
        }
        station->sent++;
    }
    virtio_net_flush(station->net);
}

static void receive_frames(struct station *station)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = virtio_net_receive(station->net)) != NULL) {
        if (buffer->frame_bytes != frame_bytes(station->received)) {
            fail("a frame came back with another length");
        }
        for (uint32_t i = 0; i < buffer->frame_bytes; i++) {
            if (buffer->memory[VIRTIO_NET_HEADER_BYTES + i] != frame_byte(station->received, i)) {
                fail("a frame came back with other bytes");
            }
        }
        station->received++;
        put_buffer(station, buffer);
    }
    virtio_net_refill(station->net);
}

static void bottom_half(struct station *station)
{
    struct virtio_net_packet *packet;

    do {
        station->signalled = false;
        receive_frames(station);
        while ((packet = virtio_net_transmitted(station->net)) != NULL) {
            put_packet(station, packet);
        }
        if (virtio_net_link_changed(station->net) && !virtio_net_link_up(station->net)) {
            fail("the link went down");
        }
        if (virtio_net_broken(station->net) != NULL) {
            fail(virtio_net_broken(station->net));
        }
    } while (virtio_net_bottom_half(station->net));
}

static void wait_for_interrupt(struct station *station)
{
    struct pollfd vectors[VHOST_USER_VECTORS];

    for (unsigned i = 0; i < VHOST_USER_VECTORS; i++) {
        vectors[i] = (struct pollfd){.fd = vhost_user_vector(&station->vhost, i), .events = POLLIN};
    }
    if (poll(vectors, VHOST_USER_VECTORS, WAIT_MS) <= 0) {
        fail("nothing comes back");
    }
    if (vectors[0].revents != 0 && vhost_user_service(&station->vhost)) {
        virtio_net_configuration_interrupt(station->net);
        station->signalled = true;
    }
    for (unsigned i = 1; i < VHOST_USER_VECTORS; i++) {
        if (vectors[i].revents != 0) {
            vhost_user_acknowledge(&station->vhost, i);
            virtio_net_interrupt(station->net);
        }
    }
}

static void check_statistics(struct station *station)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(station->net, &statistics);
    printf("round_trip: %u frames, %llu interrupts, %llu + %llu notifications\n", station->received,
           (unsigned long long)statistics.interrupts,
           (unsigned long long)statistics.notifications_tx,
           (unsigned long long)statistics.notifications_rx);
    if (statistics.tx_accepted != statistics.tx_returned ||
        statistics.rx_buffers_taken != statistics.rx_buffers_returned) {
        fail("the counters do not balance");
    }
}

static void run_round(struct station *station)
{
    const struct virtio_net_parameters parameters = {.rx_buffers = WINDOW};
    const char *reason;
    struct virtio_net_packet *packet;

    station->net =
        virtio_net_create(&station->vhost.transport, &parameters, &operations, station, &reason);
    if (station->net == NULL) {
        fail(reason);
    }
    station->sent = 0;
    station->received = 0;
    station->signalled = true;
    while (station->received < station->frames) {
        if (station->signalled) {
            bottom_half(station);
        }
        send_frames(station);
        if (!station->signalled && station->received < station->frames) {
            wait_for_interrupt(station);
        }
    }
    if (!virtio_net_stop(station->net)) {
        fail("the back-end does not stop");
    }
    while ((packet = virtio_net_transmitted(station->net)) != NULL) {
        put_packet(station, packet);
    }
    check_statistics(station);
    virtio_net_free(station->net);
}

static bool has_option(int count, char **arguments, const char *option)
{
    for (int i = 3; i < count; i++) {
        if (strcmp(arguments[i], option) == 0) {
            return true;
        }
    }
    return false;
}

int main(int count, char **arguments)
{
    static struct station station;
    struct vhost_user_options options = {.mac = {2, 0, 0, 0, 0, 1}};
    const char *reason;

    if (count < 3) {
        fail("usage: round_trip SOCKET FRAMES [server] [huge]");
    }
    options.path = arguments[1];
    options.server = has_option(count, arguments, "server");
    station.frames = (uint32_t)strtoul(arguments[2], NULL, 10);
    if (!vhost_user_memory_open(SHARED_BYTES, has_option(count, arguments, "huge"), &reason) ||
        !vhost_user_open(&station.vhost, &options, &reason)) {
        fail(reason);
    }
    make_pools(&station);
    if (!vhost_user_connect(&station.vhost, WAIT_MS)) {
        fail("there is no back-end");
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_round(&station);
    }
    vhost_user_close(&station.vhost);
    free_pools(&station);
    if (vhost_user_memory_free_bytes() != vhost_user_memory()->bytes) {
        fail("shared memory was lost");
    }
    vhost_user_memory_close();
    return 0;
}
