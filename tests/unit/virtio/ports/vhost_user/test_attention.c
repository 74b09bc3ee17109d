/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests notices of a vhost-user back-end: errors of a queue through its eventfd, requests on its
 * own channel, configuration changes. None of them may do harm.
 */
#include "fixture.h"
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONFIG_CHANGE 2u
#define NEED_REPLY    0x8u
#define VERSION       0x1u

struct __attribute__((packed)) request {
    uint32_t request, flags, bytes;
    uint8_t payload[64];
};

static void start(uint64_t features)
{
    open_port(&(struct vhost_user_options){.mtu = 1400, .queue_pairs = FAKE_PAIRS});
    station.backend.features = features;
    fake_backend_start(&station.backend);
    assert_null(create());
}

static void end(void)
{
    assert_true(stop());
    close_port();
    fake_backend_stop(&station.backend);
}

static void say(const void *bytes, size_t count)
{
    assert_int_equal(send(fake_backend_requests(), bytes, count, MSG_NOSIGNAL), count);
}

/* Returns the result in the answer to a request; there must be one. */
static uint64_t answered(uint32_t request)
{
    struct __attribute__((packed)) {
        uint32_t request, flags, bytes;
        uint64_t result;
    } reply;

    assert_int_equal(recv(fake_backend_requests(), &reply, sizeof(reply), MSG_DONTWAIT),
                     sizeof(reply));
    assert_int_equal(reply.request, request);
    assert_int_equal(reply.flags, 0x5);
    assert_int_equal(reply.bytes, sizeof(reply.result));
    return reply.result;
}

static bool nothing_answered(void)
{
    uint8_t byte;

    return recv(fake_backend_requests(), &byte, 1, MSG_DONTWAIT) < 0;
}

/* The device needs a reset, and works again afterwards, on the same connection unless the
 * connection failed. */
static void recover(unsigned connections)
{
    notice();
    assert_non_null(virtio_net_broken(station.net));
    assert_non_null(vhost_user_lost(&station.vhost));
    assert_false(attention_wanted());
    assert_true(stop());
    assert_null(create());
    assert_null(vhost_user_lost(&station.vhost));
    exchange(3);
    assert_int_equal(station.backend.connections, connections);
}

static void test_error_of_each_queue(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        start(FEATURE_MQ);
        exchange(1);
        assert_int_equal(eventfd_write(fake_backend_error(i), 1), 0);
        recover(1);
        end();
    }
}

/* Errors without end neither keep vector 0 due nor make a thread wait. */
static void test_endless_errors(void **state)
{
    (void)state;
    start(FEATURE_MQ);
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        assert_int_equal(eventfd_write(fake_backend_error(i), UINT64_MAX - 1), 0);
    }
    notice();
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        (void)eventfd_write(fake_backend_error(i), 1);
    }
    assert_false(attention_wanted());
    assert_false(vhost_user_service(&station.vhost));
    end();
}

/* The back-end shares the eventfds, including their flags. */
static void test_eventfds_made_to_block(void **state)
{
    (void)state;
    start(FEATURE_MQ);
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        assert_int_equal(fcntl(fake_backend_error(i), F_SETFL, O_RDWR), 0);
        assert_int_equal(fcntl(fake_backend_call(i), F_SETFL, O_RDWR), 0);
        vhost_user_acknowledge(&station.vhost, 1 + i);
    }
    assert_false(vhost_user_service(&station.vhost));
    exchange(1);
    end();
}

static void test_link_goes_down_and_up(void **state)
{
    const struct request change = {CONFIG_CHANGE, VERSION, 0, {0}};
    const struct request asked = {CONFIG_CHANGE, VERSION | NEED_REPLY, 0, {0}};

    (void)state;
    start(FEATURE_STATUS | FEATURE_MAC);
    assert_true(virtio_net_link_up(station.net));
    assert_false(vhost_user_service(&station.vhost));
    station.backend.config[6] = 0;
    say(&change, 12);
    notice();
    assert_true(nothing_answered());
    assert_false(virtio_net_link_up(station.net));
    station.backend.config[6] = 1;
    say(&asked, 12);
    notice();
    assert_int_equal(answered(CONFIG_CHANGE), 0);
    assert_true(virtio_net_link_up(station.net));
    assert_false(attention_wanted());
    exchange(1);
    end();
}

/* The port supplies the fields that the back-end does not. */
static void test_configuration_partly_from_the_back_end(void **state)
{
    uint8_t mac[6];

    (void)state;
    start(FEATURE_MTU);
    station.backend.config[6] = 0; /* without VIRTIO_NET_F_STATUS the field means nothing */
    assert_true(virtio_net_link_up(station.net));
    assert_true(virtio_net_mac(station.net, mac));
    assert_memory_equal(mac, ((uint8_t[6]){2, 0, 0, 0, 0, 7}), 6);
    assert_int_equal(virtio_net_mtu(station.net), 1500);
    end();
    /* The port does not report its own MTU to the back-end. */
    assert_int_equal(station.backend.mtu, 0);
}

static void test_invalid_configuration_answers(void **state)
{
    (void)state;
    for (enum fake_config_lie lie = CONFIG_OTHER_OFFSET; lie <= CONFIG_ERROR; lie++) {
        start(FEATURE_STATUS);
        station.backend.config_lie = lie;
        (void)virtio_net_link_up(station.net);
        assert_non_null(vhost_user_lost(&station.vhost));
        assert_true(vhost_user_service(&station.vhost));
        station.backend.config_lie = CONFIG_HONEST;
        virtio_net_watch(station.net);
        assert_non_null(virtio_net_broken(station.net));
        assert_true(stop());
        assert_null(create());
        exchange(1);
        end();
    }
}

/* Numbers of pairs that the back-end has, and the numbers used. */
static void test_offered_pairs(void **state)
{
    static const struct {
        uint64_t features, protocol_features, pairs;
        uint16_t wanted;
        unsigned used, enabled;
    } cases[] = {
        {FEATURE_MQ, PROTOCOL_ALL, 2, 2, 2, 0xf},
        {FEATURE_MQ, PROTOCOL_ALL & ~PROTOCOL_CONFIG, 2, 2, 2, 0xf},
        {FEATURE_MQ, PROTOCOL_MQ, 2, 2, 2, 0xf},
        {FEATURE_MQ, PROTOCOL_ALL, UINT64_MAX, 2, 2, 0xf},
        {FEATURE_MQ, PROTOCOL_ALL, 0x100000001, 2, 2, 0xf},
        {FEATURE_MQ, PROTOCOL_ALL, 1, 2, 1, 0x3},
        {FEATURE_MQ, PROTOCOL_ALL, 2, 1, 1, 0x3},
        {FEATURE_MQ, PROTOCOL_ALL & ~PROTOCOL_MQ, 2, 2, 1, 0x3},
        {0, PROTOCOL_ALL, 2, 2, 1, 0x3},
        {FEATURE_MQ, PROTOCOL_ALL, 0, 2, 0, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_port(&(struct vhost_user_options){.queue_pairs = cases[i].wanted});
        station.backend.features = cases[i].features;
        station.backend.protocol_features = cases[i].protocol_features;
        station.backend.pairs = cases[i].pairs;
        fake_backend_start(&station.backend);
        if (cases[i].used == 0) {
            assert_non_null(create());
        } else {
            assert_null(create());
            assert_int_equal(virtio_net_pair(station.net, 1) != NULL, cases[i].used == 2);
            exchange(1);
            exchange(2);
            assert_int_equal(station.backend.enabled, cases[i].enabled);
            assert_true(stop());
        }
        close_port();
        fake_backend_wait_gone();
        fake_backend_stop(&station.backend);
        assert_int_equal(station.backend.frames, 2 * cases[i].used);
        assert_int_equal(station.backend.enabled, 0);
    }
}

/* The back-end requests features that were not negotiated or do not exist. */
static void test_requests_are_refused(void **state)
{
    static const struct {
        uint32_t request, bytes;
    } requests[] = {{1, 40}, {3, 24}, {4, 8},   {5, 8},
                    {6, 16}, {0, 0},  {99, 64}, {CONFIG_CHANGE, 8}};

    (void)state;
    start(FEATURE_STATUS);
    for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct request request = {
            requests[i].request, VERSION | NEED_REPLY, requests[i].bytes, {0}};

        say(&request, 12 + request.bytes);
        assert_false(vhost_user_service(&station.vhost));
        assert_int_not_equal(answered(request.request), 0);
        request.flags = VERSION;
        say(&request, 12 + request.bytes);
        assert_false(vhost_user_service(&station.vhost));
        assert_true(nothing_answered());
    }
    exchange(1);
    end();
}

/* Without CONFIG no configuration of the back-end can change; without REPLY_ACK there is no
 * answer. */
static void test_requests_without_negotiation(void **state)
{
    const struct request change = {CONFIG_CHANGE, VERSION | NEED_REPLY, 0, {0}};

    (void)state;
    for (unsigned acknowledged = 0; acknowledged < 2; acknowledged++) {
        open_port(&(struct vhost_user_options){0});
        station.backend.protocol_features =
            PROTOCOL_BACKEND_REQ | (acknowledged ? PROTOCOL_REPLY_ACK : 0);
        fake_backend_start(&station.backend);
        assert_null(create());
        exchange(1);
        say(&change, 12);
        assert_false(vhost_user_service(&station.vhost));
        if (acknowledged) {
            assert_int_not_equal(answered(CONFIG_CHANGE), 0);
        } else {
            assert_true(nothing_answered());
        }
        end();
    }
}

/* Requests arrive byte by byte and are answered once they are complete. */
static void test_request_in_pieces(void **state)
{
    const struct request request = {99, VERSION | NEED_REPLY, 5, {0}};
    const struct request change = {CONFIG_CHANGE, VERSION | NEED_REPLY, 0, {0}};

    (void)state;
    start(FEATURE_STATUS);
    for (unsigned i = 0; i < 12 + 5; i++) {
        assert_true(nothing_answered());
        say((const uint8_t *)&request + i, 1);
        assert_false(vhost_user_service(&station.vhost));
    }
    assert_int_not_equal(answered(99), 0);
    say(&change, 7);
    assert_false(vhost_user_service(&station.vhost));
    say((const uint8_t *)&change + 7, 5);
    notice();
    assert_int_equal(answered(CONFIG_CHANGE), 0);
    end();
}

/* A descriptor sent with a request is closed. */
static void test_received_descriptors_are_closed(void **state)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control = {{0}};
    struct request request = {3, VERSION, 24, {0}};
    struct iovec whole = {.iov_base = &request, .iov_len = 12 + 24};
    struct msghdr message = {.msg_iov = &whole,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct pollfd reader = {.events = POLLIN};
    int ends[2];

    (void)state;
    start(FEATURE_STATUS);
    assert_int_equal(pipe(ends), 0);
    control.alignment.cmsg_level = SOL_SOCKET;
    control.alignment.cmsg_type = SCM_RIGHTS;
    control.alignment.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.alignment), &ends[1], sizeof(int));
    assert_int_equal(sendmsg(fake_backend_requests(), &message, 0), 12 + 24);
    assert_false(vhost_user_service(&station.vhost));
    close(ends[1]);
    reader.fd = ends[0];
    assert_int_equal(poll(&reader, 1, 0), 1); /* no writer is left */
    close(ends[0]);
    end();
}

static void test_invalid_requests(void **state)
{
    static const struct request lies[] = {
        {CONFIG_CHANGE, 0, 0, {0}},                 /* no version */
        {CONFIG_CHANGE, 0x2, 0, {0}},               /* another version */
        {CONFIG_CHANGE, VERSION | 0x4, 0, {0}},     /* an answer */
        {CONFIG_CHANGE, VERSION, 257, {0}},         /* longer than any request */
        {1, VERSION | NEED_REPLY, 0xffffffff, {0}}, /* much longer */
        {0xffffffff, 0xffffffff, 0xffffffff, {0xff}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        start(FEATURE_STATUS);
        say(&lies[i], sizeof(lies[i]));
        recover(2);
        end();
    }
}

/* The back-end may close the channel. */
static void test_channel_is_closed(void **state)
{
    const struct request change = {CONFIG_CHANGE, VERSION | NEED_REPLY, 0, {0}};

    (void)state;
    for (unsigned sent = 0; sent <= 12; sent += 4) {
        start(FEATURE_STATUS);
        if (sent != 0) {
            say(&change, sent);
        }
        (void)shutdown(fake_backend_requests(), SHUT_RDWR);
        assert_int_equal(vhost_user_service(&station.vhost), sent == 12);
        assert_false(attention_wanted());
        exchange(1);
        end();
    }
}

/* One check handles a bounded number of requests, and none of them waits. */
static void test_endless_requests(void **state)
{
    const struct request change = {CONFIG_CHANGE, VERSION, 0, {0}};
    const struct request asked = {CONFIG_CHANGE, VERSION | NEED_REPLY, 0, {0}};
    unsigned looks = 0;
    unsigned said = 0;

    (void)state;
    start(FEATURE_STATUS);
    while (send(fake_backend_requests(), &change, 12, MSG_DONTWAIT) == 12) {
        said++;
    }
    assert_true(said > 100);
    while (attention_wanted()) {
        assert_true(vhost_user_service(&station.vhost));
        looks++;
    }
    assert_true(looks > 1);
    assert_null(vhost_user_lost(&station.vhost));
    exchange(1);
    /* A back-end that wants answers has to read them. */
    while (vhost_user_lost(&station.vhost) == NULL) {
        say(&asked, 12);
        assert_true(vhost_user_service(&station.vhost));
    }
    virtio_net_watch(station.net);
    assert_non_null(virtio_net_broken(station.net));
    assert_true(stop());
    assert_null(create());
    exchange(2);
    end();
}

/* A back-end waits for our answer before it answers itself: its notice is not lost. */
static void test_simultaneous_requests(void **state)
{
    (void)state;
    open_port(&(struct vhost_user_options){0});
    station.backend.features = FEATURE_STATUS;
    fake_backend_start(&station.backend);
    assert_null(create());
    station.backend.asks_back = true;
    virtio_net_watch(station.net);
    assert_null(virtio_net_broken(station.net));
    station.backend.asks_back = false;
    notice();
    assert_null(virtio_net_broken(station.net));
    exchange(1);
    end();
}

/* The driver does not hold its lock while it waits for the back-end. */
static void test_lock_is_free_while_the_back_end_answers(void **state)
{
    const struct request change = {CONFIG_CHANGE, VERSION, 0, {0}};

    (void)state;
    start(FEATURE_STATUS);
    station.backend.takes_lock = true;
    say(&change, 12);
    notice(); /* virtio_net_link_changed() asks for the status */
    virtio_net_watch(station.net);
    assert_true(virtio_net_link_up(station.net));
    exchange(1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_of_each_queue),
        cmocka_unit_test(test_endless_errors),
        cmocka_unit_test(test_eventfds_made_to_block),
        cmocka_unit_test(test_link_goes_down_and_up),
        cmocka_unit_test(test_configuration_partly_from_the_back_end),
        cmocka_unit_test(test_invalid_configuration_answers),
        cmocka_unit_test(test_offered_pairs),
        cmocka_unit_test(test_requests_are_refused),
        cmocka_unit_test(test_requests_without_negotiation),
        cmocka_unit_test(test_request_in_pieces),
        cmocka_unit_test(test_received_descriptors_are_closed),
        cmocka_unit_test(test_invalid_requests),
        cmocka_unit_test(test_channel_is_closed),
        cmocka_unit_test(test_endless_requests),
        cmocka_unit_test(test_simultaneous_requests),
        cmocka_unit_test(test_lock_is_free_while_the_back_end_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
