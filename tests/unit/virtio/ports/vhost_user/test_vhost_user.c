/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the network driver over vhost-user against the tests' own back-end: its messages to a
 * correct back-end, and that a faulty back-end can neither crash it, nor hang it, nor make it lose
 * buffers.
 */
#include "fixture.h"
#include "memory.h"
#include <string.h>

static const uint64_t protocols[] = {
    0,
    PROTOCOL_REPLY_ACK,
    PROTOCOL_STATUS,
    PROTOCOL_MQ | PROTOCOL_REPLY_ACK | PROTOCOL_STATUS | PROTOCOL_NET_MTU,
    PROTOCOL_BACKEND_REQ,
    PROTOCOL_BACKEND_REQ | PROTOCOL_CONFIG,
    PROTOCOL_ALL,
};
#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

static void test_frames_over_every_protocol(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= PROTOCOLS; i++) {
        open_port(&(struct vhost_user_options){.server = i % 2 == 1});
        station.backend.client = i % 2 == 1;
        station.backend.old = i == PROTOCOLS;
        station.backend.protocol_features = i < PROTOCOLS ? protocols[i] : 0;
        fake_backend_start(&station.backend);
        assert_true(vhost_user_connect(&station.vhost, WAIT_MS));
        assert_null(create());
        exchange(1);
        exchange(2);
        assert_true(stop());
        assert_null(create()); /* on the same connection */
        exchange(3);
        assert_true(stop());
        assert_int_equal(station.backend.connections, 1);
        close_port();
        fake_backend_stop(&station.backend);
        assert_int_equal(station.backend.frames, 3);
    }
}

static void test_configuration_from_the_port(void **state)
{
    uint8_t mac[6] = {0};

    (void)state;
    open_port(&(struct vhost_user_options){.mtu = 1400});
    station.backend.features = FEATURE_MTU;
    station.backend.protocol_features = PROTOCOL_REPLY_ACK | PROTOCOL_NET_MTU;
    fake_backend_start(&station.backend);
    assert_null(create());
    assert_true(virtio_net_mac(station.net, mac));
    assert_memory_equal(mac, ((uint8_t[6]){2, 0, 0, 0, 0, 7}), 6);
    assert_int_equal(virtio_net_mtu(station.net), 1400);
    assert_true(virtio_net_link_up(station.net));
    assert_true(stop());
    close_port();
    fake_backend_stop(&station.backend);
    assert_int_equal(station.backend.mtu, 1400);
    /* The port does not send its own feature bits to the back-end, which offered MTU only. */
    assert_int_equal(station.backend.driver_features & 0xffffff, 1 << 3);
}

static void test_configuration_from_the_back_end(void **state)
{
    uint8_t mac[6] = {0};

    (void)state;
    open_port(&(struct vhost_user_options){.mtu = 1400});
    station.backend.features = FEATURE_MTU | FEATURE_MAC | FEATURE_STATUS;
    fake_backend_start(&station.backend);
    assert_null(create());
    assert_true(virtio_net_mac(station.net, mac));
    assert_memory_equal(mac, ((uint8_t[6]){2, 0, 0, 0, 0, 9}), 6);
    assert_int_equal(virtio_net_mtu(station.net), 1500);
    assert_true(virtio_net_link_up(station.net));
    assert_true(stop());
    close_port();
    fake_backend_stop(&station.backend);
}

static void open_for_fault(uint64_t protocol)
{
    open_port(&(struct vhost_user_options){.mtu = 1400, .queue_pairs = FAKE_PAIRS});
    station.backend.protocol_features = protocol;
    station.backend.features = FEATURE_MTU | FEATURE_MAC | FEATURE_STATUS | FEATURE_MQ;
}

/* Starts the driver, reads the link state, and stops. */
static void run(void)
{
    if (create() == NULL) {
        (void)virtio_net_link_up(station.net);
        assert_true(stop());
    }
}

/* Returns the number of messages of a faultless run, up to the last one with an answer: the driver
 * learns of later failures only in its next step. */
static unsigned messages_of_a_run(uint64_t protocol)
{
    open_for_fault(protocol);
    fake_backend_start(&station.backend);
    run();
    assert_null(vhost_user_lost(&station.vhost));
    close_port();
    fake_backend_wait_gone();
    fake_backend_stop(&station.backend);
    return station.backend.heard;
}

/* Runs the driver with a fault, after which a new run must work. */
static void run_with_fault(void)
{
    run();
    if (vhost_user_lost(&station.vhost) != NULL) {
        /* A back-end that is silent on one connection answers on the next. */
        channel_close(&station.vhost.channel);
        fake_backend_wait_gone();
    }
    assert_true(vhost_user_connect(&station.vhost, WAIT_MS));
    assert_null(create());
    exchange(1);
    assert_true(stop());
}

static void test_every_fault_at_every_message(void **state)
{
    unsigned happened = 0;

    (void)state;
    for (unsigned i = 0; i < PROTOCOLS; i++) {
        unsigned messages = messages_of_a_run(protocols[i]);

        for (unsigned fault = FAULT_NONE + 1; fault < FAULT_COUNT; fault++) {
            if (fault == FAULT_STUBBORN) {
                continue;
            }
            for (unsigned at = 0; at < messages; at++) {
                open_for_fault(protocols[i]);
                station.backend.fault = fault;
                station.backend.fault_at = at;
                fake_backend_start(&station.backend);
                run_with_fault();
                close_port();
                fake_backend_stop(&station.backend);
                happened += station.backend.fault_happened;
            }
        }
    }
    assert_true(happened > 1000);
}

static void test_back_end_dies_while_running(void **state)
{
    (void)state;
    open_port(&(struct vhost_user_options){0});
    fake_backend_start(&station.backend);
    assert_null(create());
    exchange(1);
    assert_false(vhost_user_service(&station.vhost));
    fake_backend_stop(&station.backend);
    wait_for_vector(0);
    assert_true(vhost_user_service(&station.vhost));
    assert_string_equal(vhost_user_lost(&station.vhost), "the back-end has hung up");
    virtio_net_configuration_interrupt(station.net);
    assert_true(virtio_net_link_changed(station.net));
    assert_non_null(virtio_net_broken(station.net));
    assert_false(vhost_user_service(&station.vhost)); /* reported only once */
    assert_false(vhost_user_connect(&station.vhost, 0));
    assert_true(stop());
    assert_non_null(create()); /* no back-end */
    fake_backend_start(&station.backend);
    assert_null(create());
    exchange(2);
    assert_true(stop());
    close_port();
    fake_backend_stop(&station.backend);
}

static void test_memory_is_kept_until_the_back_end_stops(void **state)
{
    (void)state;
    open_port(&(struct vhost_user_options){0});
    fake_backend_start(&station.backend);
    assert_null(create());
    station.backend.fault_at = station.backend.messages; /* the fault occurs at the next message */
    station.backend.fault = FAULT_STUBBORN;
    assert_false(stop());
    assert_true(station.lanes[0].with_driver[0]);
    assert_false(stop());
    fake_backend_stop(&station.backend);
    assert_true(stop());
    close_port();
}

static void test_unexpected_message_from_the_back_end(void **state)
{
    (void)state;
    open_port(&(struct vhost_user_options){0});
    fake_backend_start(&station.backend);
    assert_null(create());
    station.backend.fault_at = station.backend.messages;
    station.backend.fault = FAULT_GARBAGE;
    (void)station.vhost.transport.operations->status(&station.vhost.transport);
    assert_non_null(vhost_user_lost(&station.vhost));
    assert_true(vhost_user_service(&station.vhost)); /* the failure is reported now */
    assert_false(vhost_user_service(&station.vhost));
    assert_false(attention_wanted());
    assert_true(stop());
    assert_null(create());
    exchange(1);
    assert_true(stop());
    close_port();
    fake_backend_stop(&station.backend);
}

static void test_invalid_paths(void **state)
{
    char long_path[200];
    struct vhost_user_options options = {.path = long_path};
    static struct vhost_user vhost;
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

static void test_shared_memory_is_allocated_once(void **state)
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
        cmocka_unit_test(test_configuration_from_the_port),
        cmocka_unit_test(test_configuration_from_the_back_end),
        cmocka_unit_test(test_every_fault_at_every_message),
        cmocka_unit_test(test_back_end_dies_while_running),
        cmocka_unit_test(test_memory_is_kept_until_the_back_end_stops),
        cmocka_unit_test(test_unexpected_message_from_the_back_end),
        cmocka_unit_test(test_invalid_paths),
        cmocka_unit_test(test_shared_memory_is_allocated_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
