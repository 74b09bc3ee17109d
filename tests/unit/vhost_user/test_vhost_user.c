/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network driver over vhost-user, against a back-end of our own: what it says to a back-end
 * that keeps the rules, and that one which does not can neither crash it, nor hang it, nor take
 * anything away from it.
 */
#include "fake_backend.h"
#include "memory.h"
#include "vhost_user.h"
#include "virtio/net.h"
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BUFFERS      4u
#define BUFFER_BYTES 1536u
#define SHARED_BYTES (1u << 20)
#define FRAME_BYTES  100u
#define WAIT_MS      5000
#define SILENCE_MS   30u /* how long a back-end is waited for that says nothing */
#define MESSAGES     20u /* as many as the shortest start, look and stop takes */

#define PROTOCOL_ALL                                                         \
    (PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_NET_MTU | PROTOCOL_CONFIG | \
     PROTOCOL_RESET_DEVICE | PROTOCOL_STATUS)

static char path[64];
static struct vhost_user vhost;
static struct virtio_net *net;
static struct virtio_net_buffer buffers[BUFFERS];
static bool with_driver[BUFFERS];
static struct virtio_net_packet packet;
static uint8_t *packet_memory;
static struct fake_backend backend;

static struct virtio_net_buffer *take_buffer(void *context)
{
    (void)context;
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (!with_driver[i]) {
            with_driver[i] = true;
            return &buffers[i];
        }
    }
    return NULL;
}

static void put_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    assert_true(with_driver[buffer - buffers]);
    with_driver[buffer - buffers] = false;
}

static void wake(void *context)
{
    (void)context; /* these tests look without being asked */
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

static void open_port(bool server, uint16_t mtu)
{
    const struct vhost_user_options options = {
        .path = path, .server = server, .mac = {2, 0, 0, 0, 0, 7}, .mtu = mtu};
    const char *reason;

    (void)snprintf(path, sizeof(path), "/tmp/vhost-user-%d", (int)getpid());
    assert_true(vhost_user_memory_open(SHARED_BYTES, false, &reason));
    memset(with_driver, 0, sizeof(with_driver));
    for (unsigned i = 0; i < BUFFERS; i++) {
        buffers[i] =
            (struct virtio_net_buffer){.memory = shared(BUFFER_BYTES), .capacity = BUFFER_BYTES};
    }
    packet_memory = shared(BUFFER_BYTES);
    assert_true(vhost_user_open(&vhost, &options, &reason));
    backend = (struct fake_backend){.path = path, .protocol_features = PROTOCOL_ALL};
}

/* Everything must have come back. */
static void close_port(void)
{
    vhost_user_close(&vhost);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_false(with_driver[i]);
        virtio_platform_dma_free(buffers[i].memory, BUFFER_BYTES);
    }
    virtio_platform_dma_free(packet_memory, BUFFER_BYTES);
    assert_int_equal(vhost_user_memory_free_bytes(), SHARED_BYTES);
    vhost_user_memory_close();
}

static const char *create(void)
{
    const struct virtio_net_parameters parameters = {.rx_buffers = BUFFERS, .tx_ring = 4};
    const char *reason = NULL;

    net = virtio_net_create(&vhost.transport, &parameters, &operations, NULL, &reason);
    if (net != NULL) {
        return NULL;
    }
    assert_non_null(reason);
    return reason;
}

/* False: the back-end does not confirm that it has stopped. */
static bool stop(void)
{
    if (!virtio_net_stop(net)) {
        return false;
    }
    while (virtio_net_transmitted(net) != NULL) {
    }
    virtio_net_free(net);
    net = NULL;
    return true;
}

static void wait_for_vector(unsigned vector)
{
    struct pollfd wanted = {.fd = vhost_user_vector(&vhost, vector), .events = POLLIN};

    assert_int_equal(poll(&wanted, 1, WAIT_MS), 1);
}

/* A frame there and back. */
static void exchange(uint8_t mark)
{
    struct virtio_net_buffer *buffer;

    packet = (struct virtio_net_packet){
        .segment_count = 1, .segment = {{packet_memory + VIRTIO_NET_HEADER_BYTES, FRAME_BYTES}}};
    memset(packet_memory + VIRTIO_NET_HEADER_BYTES, mark, FRAME_BYTES);
    packet_memory[VIRTIO_NET_HEADER_BYTES] = 2;
    while (virtio_net_bottom_half(net)) {
    }
    assert_true(virtio_net_transmit(net, &packet));
    virtio_net_flush(net);
    wait_for_vector(1);
    vhost_user_acknowledge(&vhost, 1);
    virtio_net_interrupt(net);
    buffer = virtio_net_receive(net);
    assert_non_null(buffer);
    assert_int_equal(buffer->frame_bytes, FRAME_BYTES);
    assert_memory_equal(buffer->memory + VIRTIO_NET_HEADER_BYTES,
                        packet_memory + VIRTIO_NET_HEADER_BYTES, FRAME_BYTES);
    put_buffer(NULL, buffer);
    while (virtio_net_transmitted(net) != &packet) {
    }
}

static const uint64_t protocols[] = {
    0,
    PROTOCOL_REPLY_ACK,
    PROTOCOL_STATUS,
    PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_STATUS | PROTOCOL_NET_MTU,
    PROTOCOL_ALL,
};
#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

static void test_frames_over_every_protocol(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= PROTOCOLS; i++) {
        open_port(i % 2 == 1, 0);
        backend.client = i % 2 == 1;
        backend.old = i == PROTOCOLS;
        backend.protocol_features = i < PROTOCOLS ? protocols[i] : 0;
        fake_backend_start(&backend);
        assert_true(vhost_user_connect(&vhost, WAIT_MS));
        assert_null(create());
        exchange(1);
        exchange(2);
        assert_true(stop());
        assert_null(create()); /* on the same connection */
        exchange(3);
        assert_true(stop());
        assert_int_equal(backend.connections, 1);
        close_port();
        fake_backend_stop(&backend);
        assert_int_equal(backend.frames, 3);
    }
}

static void test_configuration_is_the_ports_own(void **state)
{
    uint8_t mac[6] = {0};

    (void)state;
    open_port(false, 1400);
    backend.features = UINT64_C(1) << 3;
    backend.protocol_features = PROTOCOL_REPLY_ACK | PROTOCOL_NET_MTU;
    fake_backend_start(&backend);
    assert_null(create());
    assert_true(virtio_net_mac(net, mac));
    assert_memory_equal(mac, ((uint8_t[6]){2, 0, 0, 0, 0, 7}), 6);
    assert_int_equal(virtio_net_mtu(net), 1400);
    assert_true(virtio_net_link_up(net));
    assert_true(stop());
    close_port();
    fake_backend_stop(&backend);
    assert_int_equal(backend.mtu, 1400);
    /* The bits that are not the back-end's never reach it: it offered MTU only. */
    assert_int_equal(backend.driver_features & 0xffffff, 1 << 3);
}

static void test_configuration_is_the_back_ends(void **state)
{
    uint8_t mac[6] = {0};

    (void)state;
    open_port(false, 1400);
    backend.features = (1 << 3) | (1 << 5) | (1 << 16);
    fake_backend_start(&backend);
    assert_null(create());
    assert_true(virtio_net_mac(net, mac));
    assert_memory_equal(mac, ((uint8_t[6]){2, 0, 0, 0, 0, 9}), 6);
    assert_int_equal(virtio_net_mtu(net), 1500);
    assert_true(virtio_net_link_up(net));
    assert_true(stop());
    close_port();
    fake_backend_stop(&backend);
}

/* A start, a look and a stop, in which it happens; then everything is well again. */
static void run_with_fault(void)
{
    if (create() == NULL) {
        (void)virtio_net_link_up(net);
        assert_true(stop());
    }
    vhost.options.timeout_ms = WAIT_MS;
    assert_true(vhost_user_connect(&vhost, WAIT_MS));
    assert_null(create());
    exchange(1);
    assert_true(stop());
}

static void test_every_fault_at_every_message(void **state)
{
    unsigned happened = 0;

    (void)state;
    for (unsigned i = 0; i < PROTOCOLS; i++) {
        for (unsigned fault = FAULT_NONE + 1; fault < FAULT_COUNT; fault++) {
            if (fault == FAULT_STUBBORN) {
                continue;
            }
            for (unsigned at = 0; at < MESSAGES; at++) {
                open_port(false, 1400);
                backend.protocol_features = protocols[i];
                backend.features = (1 << 3) | (1 << 5) | (1 << 16);
                backend.fault = fault;
                backend.fault_at = at;
                vhost.options.timeout_ms = fault == FAULT_SILENT ? SILENCE_MS : WAIT_MS;
                fake_backend_start(&backend);
                run_with_fault();
                close_port();
                fake_backend_stop(&backend);
                happened += backend.fault_happened;
            }
        }
    }
    assert_true(happened > 500);
}

static void test_back_end_that_dies_while_running(void **state)
{
    (void)state;
    open_port(false, 0);
    fake_backend_start(&backend);
    assert_null(create());
    exchange(1);
    assert_false(vhost_user_service(&vhost));
    fake_backend_stop(&backend);
    wait_for_vector(0);
    assert_true(vhost_user_service(&vhost));
    assert_string_equal(vhost_user_lost(&vhost), "the back-end has hung up");
    virtio_net_configuration_interrupt(net);
    assert_true(virtio_net_link_changed(net));
    assert_non_null(virtio_net_broken(net));
    assert_false(vhost_user_service(&vhost)); /* once is enough */
    assert_false(vhost_user_connect(&vhost, 0));
    assert_true(stop());
    assert_non_null(create()); /* nobody there */
    fake_backend_start(&backend);
    assert_null(create());
    exchange(2);
    assert_true(stop());
    close_port();
    fake_backend_stop(&backend);
}

static void test_memory_stays_with_a_back_end_that_does_not_let_go(void **state)
{
    (void)state;
    open_port(false, 0);
    fake_backend_start(&backend);
    assert_null(create());
    backend.fault_at = backend.messages; /* it waits for the next message */
    backend.fault = FAULT_STUBBORN;
    assert_false(stop());
    assert_true(with_driver[0]);
    assert_false(stop());
    fake_backend_stop(&backend);
    assert_true(stop());
    close_port();
}

static void test_back_end_that_speaks_out_of_turn(void **state)
{
    (void)state;
    open_port(false, 0);
    fake_backend_start(&backend);
    assert_null(create());
    backend.fault_at = backend.messages;
    backend.fault = FAULT_GARBAGE;
    (void)vhost.transport.operations->status(&vhost.transport);
    assert_non_null(vhost_user_lost(&vhost));
    assert_false(vhost_user_service(&vhost));
    assert_true(stop());
    assert_null(create());
    exchange(1);
    assert_true(stop());
    close_port();
    fake_backend_stop(&backend);
}

static void test_paths_that_can_not_be(void **state)
{
    char long_path[200];
    struct vhost_user_options options = {.path = long_path};
    const char *reason = NULL;

    (void)state;
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_false(vhost_user_open(&vhost, &options, &reason));
    assert_non_null(reason);
    options = (struct vhost_user_options){.path = "/nowhere/at/all", .server = true};
    assert_false(vhost_user_open(&vhost, &options, &reason));
}

#define PIECES 60u

static void test_shared_memory_is_given_out_once(void **state)
{
    uint8_t *piece[PIECES] = {NULL};
    size_t bytes[PIECES];
    const char *reason;
    uint32_t seed = 1;

    (void)state;
    assert_true(vhost_user_memory_open(SHARED_BYTES, false, &reason));
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (seed = seed * 1664525 + 1013904223) / 3 % PIECES;
        size_t alignment = (size_t)1 << (seed >> 20) % 13;
        virtio_address address;

        if (piece[i] != NULL) {
            for (size_t k = 0; k < bytes[i]; k++) {
                assert_int_equal(piece[i][k], i);
            }
            virtio_platform_dma_free(piece[i], bytes[i]);
            piece[i] = NULL;
            continue;
        }
        bytes[i] = 1 + (seed >> 8) % 40000;
        piece[i] = virtio_platform_dma_allocate(bytes[i], alignment, &address);
        if (piece[i] != NULL) {
            assert_int_equal((uintptr_t)piece[i] % alignment, 0);
            assert_int_equal(address, (uintptr_t)piece[i]);
            assert_int_equal(piece[i][0], 0);
            assert_int_equal(piece[i][bytes[i] - 1], 0);
            memset(piece[i], (int)i, bytes[i]);
        }
    }
    for (unsigned i = 0; i < PIECES; i++) {
        if (piece[i] != NULL) {
            virtio_platform_dma_free(piece[i], bytes[i]);
        }
    }
    assert_int_equal(vhost_user_memory_free_bytes(), SHARED_BYTES);
    assert_null(virtio_platform_dma_allocate(SHARED_BYTES + 1, 1, &(virtio_address){0}));
    vhost_user_memory_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_over_every_protocol),
        cmocka_unit_test(test_configuration_is_the_ports_own),
        cmocka_unit_test(test_configuration_is_the_back_ends),
        cmocka_unit_test(test_every_fault_at_every_message),
        cmocka_unit_test(test_back_end_that_dies_while_running),
        cmocka_unit_test(test_memory_stays_with_a_back_end_that_does_not_let_go),
        cmocka_unit_test(test_back_end_that_speaks_out_of_turn),
        cmocka_unit_test(test_paths_that_can_not_be),
        cmocka_unit_test(test_shared_memory_is_given_out_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
