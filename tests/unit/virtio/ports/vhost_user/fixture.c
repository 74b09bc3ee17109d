/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "memory.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FRAME_BYTES 100u

struct station station;

static struct virtio_net_buffer *take_buffer(void *context)
{
    struct lane *lane = context;

    for (unsigned i = 0; i < BUFFERS; i++) {
        if (!lane->with_driver[i]) {
            lane->with_driver[i] = true;
            return &lane->buffers[i];
        }
    }
    return NULL;
}

static void put_buffer(void *context, struct virtio_net_buffer *buffer)
{
    struct lane *lane = context;

    assert_true(buffer >= lane->buffers && buffer < lane->buffers + BUFFERS);
    assert_true(lane->with_driver[buffer - lane->buffers]);
    lane->with_driver[buffer - lane->buffers] = false;
}

static void wake(void *context)
{
    (void)context; /* the tests call the bottom half without a signal */
}

static const struct virtio_net_operations operations = {
    .receive_buffer = take_buffer,
    .return_buffer = put_buffer,
    .signal = wake,
};

static uint8_t *shared(size_t bytes)
{
    virtio_address address;
    uint8_t *memory = virtio_platform_dma_allocate(bytes, 64, &address);

    assert_non_null(memory);
    return memory;
}

static void open_lane(struct lane *lane)
{
    *lane = (struct lane){.packet_memory = shared(BUFFER_BYTES)};
    for (unsigned i = 0; i < BUFFERS; i++) {
        lane->buffers[i] =
            (struct virtio_net_buffer){.memory = shared(BUFFER_BYTES), .capacity = BUFFER_BYTES};
    }
}

void open_port(const struct vhost_user_options *options)
{
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
    static const uint8_t config[FAKE_CONFIG_BYTES] = {2, 0, 0, 0, 0, 9, 1, 0, 1, 0, 0xdc, 0x05};
    struct vhost_user_options own = *options;
    const char *reason;

    station.net = NULL;
    station.queue_pairs = options->queue_pairs;
    (void)snprintf(station.path, sizeof(station.path), "/tmp/vhost-user-%d", (int)getpid());
    assert_true(vhost_user_memory_open(SHARED_BYTES, false, &reason));
    for (unsigned i = 0; i < FAKE_PAIRS; i++) {
        open_lane(&station.lanes[i]);
    }
    own.path = station.path;
    memcpy(own.mac, mac, sizeof(mac));
    own.timeout_ms = WAIT_MS;
    assert_true(vhost_user_open(&station.vhost, &own, &reason));
    station.backend = (struct fake_backend){
        .path = station.path, .protocol_features = PROTOCOL_ALL, .pairs = FAKE_PAIRS};
    memcpy(station.backend.config, config, sizeof(config));
}

void close_port(void)
{
    vhost_user_close(&station.vhost);
    for (unsigned k = 0; k < FAKE_PAIRS; k++) {
        struct lane *lane = &station.lanes[k];

        for (unsigned i = 0; i < BUFFERS; i++) {
            assert_false(lane->with_driver[i]);
            virtio_platform_dma_free(lane->buffers[i].memory, BUFFER_BYTES);
        }
        virtio_platform_dma_free(lane->packet_memory, BUFFER_BYTES);
    }
    assert_int_equal(vhost_user_memory_free_bytes(), SHARED_BYTES);
    vhost_user_memory_close();
}

const char *create(void)
{
    void *contexts[FAKE_PAIRS];
    const struct virtio_net_parameters parameters = {.rx_buffers = BUFFERS,
                                                     .tx_ring = 4,
                                                     .queue_pairs = station.queue_pairs,
                                                     .contexts = contexts};
    const char *reason = NULL;

    for (unsigned i = 0; i < FAKE_PAIRS; i++) {
        contexts[i] = &station.lanes[i];
    }
    station.net = virtio_net_create(&station.vhost.transport, &parameters, &operations,
                                    &station.lanes[0], &reason);
    if (station.net != NULL) {
        return NULL;
    }
    assert_non_null(reason);
    return reason;
}

bool stop(void)
{
    struct virtio_net *pair;

    if (!virtio_net_stop(station.net)) {
        return false;
    }
    for (unsigned i = 0; (pair = virtio_net_pair(station.net, i)) != NULL; i++) {
        while (virtio_net_transmitted(pair) != NULL) {
        }
    }
    virtio_net_free(station.net);
    station.net = NULL;
    return true;
}

void wait_for_vector(unsigned vector)
{
    struct pollfd wanted = {.fd = vhost_user_vector(&station.vhost, vector), .events = POLLIN};

    assert_int_equal(poll(&wanted, 1, -1), 1);
}

bool attention_wanted(void)
{
    struct pollfd wanted = {.fd = vhost_user_vector(&station.vhost, 0), .events = POLLIN};

    return poll(&wanted, 1, 0) != 0;
}

static void exchange_on(struct virtio_net *net, unsigned index, uint8_t mark)
{
    struct lane *lane = &station.lanes[index];
    uint8_t *frame = lane->packet_memory + VIRTIO_NET_HEADER_BYTES;
    unsigned vector = 1 + 2 * index;
    struct virtio_net_buffer *buffer;

    lane->packet =
        (struct virtio_net_packet){.segment_count = 1, .segment = {{frame, FRAME_BYTES}}};
    memset(frame, mark, FRAME_BYTES);
    frame[0] = 2;
    while (virtio_net_bottom_half(net)) {
    }
    assert_true(virtio_net_transmit(net, &lane->packet));
    virtio_net_flush(net);
    wait_for_vector(vector);
    vhost_user_acknowledge(&station.vhost, vector);
    virtio_net_interrupt(net);
    buffer = virtio_net_receive(net);
    assert_non_null(buffer);
    assert_int_equal(buffer->frame_bytes, FRAME_BYTES);
    assert_memory_equal(buffer->memory + VIRTIO_NET_HEADER_BYTES, frame, FRAME_BYTES);
    put_buffer(lane, buffer);
    while (virtio_net_transmitted(net) != &lane->packet) {
    }
}

void exchange(uint8_t mark)
{
    struct virtio_net *pair;

    for (unsigned i = 0; (pair = virtio_net_pair(station.net, i)) != NULL; i++) {
        exchange_on(pair, i, (uint8_t)(mark + 16 * i));
    }
}

void notice(void)
{
    wait_for_vector(0);
    assert_true(vhost_user_service(&station.vhost));
    virtio_net_configuration_interrupt(station.net);
    assert_true(virtio_net_link_changed(station.net));
}
