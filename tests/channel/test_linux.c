/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library for processes of Linux: the lock of an end, also with children of fork(), and waits
 * for several channels, also for more than are polled.
 */
#include "channel/copy.h"
#include "channel/linux.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_BYTES  CHANNEL_RING_MIN
#define CHANNELS    2u
#define MILLISECOND UINT64_C(1000000)
#define PATIENCE    (60000 * MILLISECOND)
#define MANY_WAITS  ((size_t)2 * LINUX_POLLED_WAITS)

struct fixture {
    char folder[32];
    char problem[LINUX_PROBLEM_BYTES];
    struct linux_endpoint *endpoints[CHANNELS]; /* end 0 of each channel, used */
};

static void path_of(const struct fixture *fixture, unsigned channel, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/%u", fixture->folder, channel);
}

/* Returns an end that is not used yet. NULL with the fixture's problem. */
static struct linux_endpoint *map(struct fixture *fixture, unsigned channel, unsigned end)
{
    char path[64];

    path_of(fixture, channel, path, sizeof(path));
    return linux_map_file(path, end, LINUX_MESSAGES, RING_BYTES, fixture->problem);
}

static int set_up(void **state)
{
    static struct fixture fixture;

    (void)snprintf(fixture.folder, sizeof(fixture.folder), "/tmp/channel-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    for (unsigned i = 0; i < CHANNELS; i++) {
        fixture.endpoints[i] = map(&fixture, i, 0);
        assert_non_null(fixture.endpoints[i]);
        assert_true(linux_begin(fixture.endpoints[i], fixture.problem));
    }
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char path[64];
    char bell[80];

    for (unsigned i = 0; i < CHANNELS; i++) {
        linux_close(fixture->endpoints[i]);
        path_of(fixture, i, path, sizeof(path));
        for (unsigned end = 0; end < 2; end++) {
            (void)snprintf(bell, sizeof(bell), "%s.%u", path, end);
            (void)unlink(bell);
        }
        (void)unlink(path);
    }
    return rmdir(fixture->folder);
}

/* Begins to use an end, as another process would, and closes it. */
static bool can_begin(struct fixture *fixture, unsigned channel, unsigned end)
{
    struct linux_endpoint *endpoint = map(fixture, channel, end);
    bool has_begun;

    assert_non_null(endpoint);
    has_begun = linux_begin(endpoint, fixture->problem);
    linux_close(endpoint);
    return has_begun;
}

static void test_an_end_is_locked_until_it_is_closed(void **state)
{
    struct fixture *fixture = *state;
    char expected[LINUX_PROBLEM_BYTES];

    assert_true(can_begin(fixture, 0, 1));
    /* A second endpoint that is closed does not free the lock of the first. */
    for (unsigned i = 0; i < 2; i++) {
        assert_false(can_begin(fixture, 0, 0));
        (void)snprintf(expected, sizeof(expected),
                       "another process uses end 0 of %s/0: end it first", fixture->folder);
        assert_string_equal(fixture->problem, expected);
    }
    linux_end(fixture->endpoints[0]);
    assert_false(can_begin(fixture, 0, 0));
    linux_close(fixture->endpoints[0]);
    assert_true(can_begin(fixture, 0, 0));
    fixture->endpoints[0] = map(fixture, 0, 0);
    assert_non_null(fixture->endpoints[0]);
}

/* Ends the child of a test. */
static void end_child(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Returns the child, which does nothing. */
static pid_t fork_idle(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)pause(); /* until SIGKILL */
        _exit(1);
    }
    return child;
}

static void test_a_child_keeps_no_lock_of_an_end_that_is_closed(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = fork_idle();

    linux_close(fixture->endpoints[0]);
    assert_true(can_begin(fixture, 0, 0));
    end_child(child);
    fixture->endpoints[0] = map(fixture, 0, 0);
    assert_non_null(fixture->endpoints[0]);
}

static void test_a_child_that_ends_frees_no_lock(void **state)
{
    struct fixture *fixture = *state;

    end_child(fork_idle());
    assert_false(can_begin(fixture, 0, 0));
}

/* The other end of the second channel, in this process. Both are connected. */
static struct linux_endpoint *connect_peer(struct fixture *fixture)
{
    struct linux_endpoint *peer = map(fixture, 1, 1);
    struct channel *channel = linux_channel(fixture->endpoints[1]);

    assert_non_null(peer);
    assert_true(linux_begin(peer, fixture->problem));
    for (unsigned i = 0; i < 2; i++) {
        (void)channel_update(channel);
        (void)channel_update(linux_channel(peer));
    }
    assert_int_equal(channel->state, CHANNEL_CONNECTED);
    assert_int_equal(linux_channel(peer)->state, CHANNEL_CONNECTED);
    return peer;
}

/* A child of a process uses its copies of the endpoints of its parent. */
static void use_as_child(struct fixture *fixture, struct linux_endpoint *mapped)
{
    bool has_begun = linux_begin(fixture->endpoints[1], fixture->problem) ||
                     linux_begin(mapped, fixture->problem) || linux_is_own(mapped) ||
                     can_begin(fixture, 1, 0);

    linux_end(fixture->endpoints[1]);
    linux_close(fixture->endpoints[1]);
    linux_close(mapped);
    _exit(has_begun ? 1 : 0);
}

/* Neither does the child end the life of its parent, nor can it, or another process, become a
 * second user of the end. */
static void test_a_child_that_closes_an_end_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct linux_endpoint *peer = connect_peer(fixture);
    struct linux_endpoint *mapped = map(fixture, 0, 1);
    struct channel *channel = linux_channel(fixture->endpoints[1]);
    int status;
    pid_t child;

    assert_non_null(mapped);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        use_as_child(fixture, mapped);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(can_begin(fixture, 1, 0));
    assert_int_equal(channel_update(linux_channel(peer)), CHANNEL_CONNECTED);
    assert_int_equal(channel_send(channel, "", 1, 0), CHANNEL_DONE);
    assert_true(linux_wait_for_message(peer, linux_now() + PATIENCE));
    assert_int_equal(linux_channel(peer)->state, CHANNEL_CONNECTED);
    assert_true(linux_is_own(mapped));
    assert_true(linux_begin(mapped, fixture->problem));
    assert_false(linux_begin(mapped, fixture->problem));
    linux_close(mapped);
    linux_close(peer);
}

/* Another process, which connects with a channel, and sends a message after a while. */
static pid_t fork_sender(struct fixture *fixture, unsigned channel)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct linux_endpoint *peer = map(fixture, channel, 1);

        if (peer == NULL || !linux_begin(peer, fixture->problem)) {
            _exit(1);
        }
        while (channel_update(linux_channel(peer)) == CHANNEL_CONNECTING) {
            (void)linux_wait_for_message(peer, linux_now() + PATIENCE);
        }
        (void)usleep(50000);
        _exit(channel_send(linux_channel(peer), "", 1, 0) == CHANNEL_DONE ? 0 : 1);
    }
    while (channel_update(linux_channel(fixture->endpoints[channel])) == CHANNEL_CONNECTING) {
        assert_true(linux_wait_for_message(fixture->endpoints[channel], linux_now() + PATIENCE));
    }
    return child;
}

/* Fills the waits: for the second channel at `second`, for the first one everywhere else. */
static void fill(struct fixture *fixture, struct linux_endpoint **endpoints,
                 struct channel_wait *waits, size_t count, size_t second)
{
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = fixture->endpoints[i == second ? 1 : 0];
        waits[i] = channel_wait_for_message(linux_channel(endpoints[i]));
    }
}

static void test_any_of_many_channels_ends_a_wait(void **state)
{
    static struct linux_endpoint *endpoints[MANY_WAITS];
    static struct channel_wait waits[MANY_WAITS];
    const size_t counts[] = {2, LINUX_POLLED_WAITS, LINUX_POLLED_WAITS + 1, MANY_WAITS};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t count = counts[i];
        pid_t child = fork_sender(fixture, 1);
        struct channel *channel = linux_channel(fixture->endpoints[1]);
        uint64_t length;
        uint32_t tag;
        int status;

        fill(fixture, endpoints, waits, count, count - 1);
        assert_int_equal(linux_wait_any(endpoints, waits, count, linux_now() + PATIENCE),
                         count - 1);
        assert_non_null(channel_receive_begin(channel, &length, &tag));
        channel_receive_end(channel);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        channel_reset(channel);
    }
}

/* Receives the message of a child that then ended without linux_end(), and waits for its end. */
static void receive_last(struct fixture *fixture, pid_t child)
{
    struct channel *channel = linux_channel(fixture->endpoints[1]);
    uint64_t length;
    uint32_t tag;

    assert_true(linux_wait_for_message(fixture->endpoints[1], linux_now() + PATIENCE));
    assert_non_null(channel_receive_begin(channel, &length, &tag));
    channel_receive_end(channel);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_the_death_of_a_peer_ends_a_wait(void **state)
{
    static struct linux_endpoint *endpoints[MANY_WAITS];
    static struct channel_wait waits[MANY_WAITS];
    const size_t counts[] = {1, 2, MANY_WAITS};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t count = counts[i];

        receive_last(fixture, fork_sender(fixture, 1));
        fill(fixture, endpoints, waits, count, count - 1);
        assert_int_equal(linux_wait_any(endpoints, waits, count, linux_now() + PATIENCE),
                         count - 1);
        assert_int_equal(channel_update(linux_channel(fixture->endpoints[1])), CHANNEL_ENDED);
        channel_accept(linux_channel(fixture->endpoints[1]));
    }
}

/* Both a thread whose waits are over at once, and one that polls. */
static void test_a_death_is_noticed_without_sleeps(void **state)
{
    struct fixture *fixture = *state;
    struct linux_endpoint *endpoints[] = {NULL, fixture->endpoints[1]};
    struct channel *channel = linux_channel(fixture->endpoints[1]);
    struct channel_wait waits[2];
    uint64_t deadline = linux_now() + PATIENCE;
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(write(ready[1], "", 1), 1);
    receive_last(fixture, fork_sender(fixture, 1));
    waits[0] = linux_wait_for_input(ready[0]);
    while (channel_update(channel) == CHANNEL_CONNECTED) {
        waits[1] = channel_wait_for_message(channel);
        assert_int_equal(linux_wait_any(endpoints, waits, 2, deadline), 0);
        assert_true(linux_now() < deadline);
    }
    channel_accept(channel);
    receive_last(fixture, fork_sender(fixture, 1));
    while (channel_update(channel) == CHANNEL_CONNECTED) {
        linux_look_for_peer(fixture->endpoints[1]);
        assert_true(linux_now() < deadline);
    }
    close(ready[0]);
    close(ready[1]);
}

/* A process that connects with the second channel, and ends without linux_end(). Its child has the
 * lock, and ends when the other end of the pipe `until` is closed. */
static void leave_lock_to_child(struct fixture *fixture, const int *until)
{
    struct linux_endpoint *peer = map(fixture, 1, 1);
    char none;

    close(until[1]);
    if (peer == NULL || !linux_begin(peer, fixture->problem)) {
        _exit(1);
    }
    while (channel_update(linux_channel(peer)) == CHANNEL_CONNECTING) {
        (void)linux_wait_for_message(peer, linux_now() + PATIENCE);
    }
    if (fork() == 0) {
        _exit(read(until[0], &none, 1) == 0 ? 0 : 1);
    }
    _exit(0);
}

static void test_a_child_that_has_the_lock_keeps_the_end(void **state)
{
    struct fixture *fixture = *state;
    struct linux_endpoint *survivor = fixture->endpoints[1];
    struct channel *channel = linux_channel(survivor);
    int until[2];
    int status;
    pid_t peer;

    assert_int_equal(pipe(until), 0);
    peer = fork();
    assert_true(peer >= 0);
    if (peer == 0) {
        leave_lock_to_child(fixture, until);
    }
    while (channel_update(channel) != CHANNEL_CONNECTED) {
        assert_true(linux_wait_for_message(survivor, linux_now() + PATIENCE));
    }
    assert_int_equal(waitpid(peer, &status, 0), peer);
    assert_int_equal(status, 0);
    assert_false(linux_wait_for_message(survivor, linux_now() + 2 * LINUX_DEATH_NS));
    close(until[1]);
    assert_true(linux_wait_for_message(survivor, linux_now() + PATIENCE));
    assert_int_equal(channel->state, CHANNEL_ENDED);
    close(until[0]);
}

static bool is_readable(const struct linux_endpoint *endpoint)
{
    struct pollfd file = {.fd = linux_endpoint_bell(endpoint), .events = POLLIN};

    return poll(&file, 1, 0) == 1;
}

static void drop_messages(struct channel *channel)
{
    uint64_t length;
    uint32_t tag;

    while (channel_receive_begin(channel, &length, &tag) != NULL) {
        channel_receive_end(channel);
    }
}

/* An event loop sleeps after linux_arm(), while the same thread makes calls that wait. */
static void test_an_armed_endpoint_stays_so_in_other_waits(void **state)
{
    struct fixture *fixture = *state;
    struct linux_endpoint *endpoint = fixture->endpoints[1];
    struct linux_endpoint *peer = connect_peer(fixture);
    struct channel *channel = linux_channel(endpoint);

    (void)linux_arm(endpoint); /* the doorbells of the connection */
    for (unsigned i = 0; i < 3; i++) {
        assert_true(linux_arm(endpoint));
        assert_false(is_readable(endpoint));
        assert_false(linux_wait_for_message(endpoint, linux_now() + MILLISECOND));
        assert_int_equal(channel_send(linux_channel(peer), "", 1, 0), CHANNEL_DONE);
        assert_true(is_readable(endpoint));
        assert_false(linux_arm(endpoint));
        drop_messages(channel);
    }
    while (channel_send(channel, "", 1, 0) == CHANNEL_DONE) {
    }
    for (unsigned i = 0; i < 3; i++) {
        /* The wait hears the doorbell that was meant for the event loop. */
        assert_true(linux_arm(endpoint));
        assert_int_equal(channel_send(linux_channel(peer), "", 1, 0), CHANNEL_DONE);
        assert_false(linux_wait_for_space(endpoint, 1, linux_now() + MILLISECOND));
        assert_true(is_readable(endpoint));
        assert_false(linux_arm(endpoint));
        drop_messages(channel);
    }
    assert_true(linux_arm(endpoint));
    assert_false(is_readable(endpoint));
    linux_close(peer);
}

static void test_an_endpoint_is_armed_for_space(void **state)
{
    struct fixture *fixture = *state;
    struct linux_endpoint *endpoint = fixture->endpoints[1];
    struct linux_endpoint *peer = connect_peer(fixture);
    struct channel *channel = linux_channel(endpoint);

    assert_false(linux_arm_with_space(endpoint, channel_content_max(RING_BYTES)));
    while (channel_send(channel, "", 1, 0) == CHANNEL_DONE) {
    }
    assert_true(linux_arm_with_space(endpoint, 1));
    assert_false(is_readable(endpoint));
    drop_messages(linux_channel(peer));
    assert_true(is_readable(endpoint));
    assert_false(linux_arm_with_space(endpoint, 1));
    while (channel_send(channel, "", 1, 0) == CHANNEL_DONE) {
    }
    assert_true(linux_arm_with_space(endpoint, 1));
    assert_int_equal(channel_send(linux_channel(peer), "", 1, 0), CHANNEL_DONE);
    assert_true(is_readable(endpoint));
    assert_false(linux_arm_with_space(endpoint, 1));
    linux_close(peer);
    drop_messages(channel);
    assert_int_equal(channel->state, CHANNEL_ENDED);
    assert_false(linux_arm_with_space(endpoint, 1));
}

static void test_a_wait_that_times_out_returns_the_count(void **state)
{
    static struct linux_endpoint *endpoints[MANY_WAITS];
    static struct channel_wait waits[MANY_WAITS];
    struct fixture *fixture = *state;

    for (size_t count = 1; count <= MANY_WAITS; count++) {
        fill(fixture, endpoints, waits, count, count);
        assert_int_equal(linux_wait_any(endpoints, waits, count, linux_now() + MILLISECOND), count);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_end_is_locked_until_it_is_closed),
        TEST(test_a_child_keeps_no_lock_of_an_end_that_is_closed),
        TEST(test_a_child_that_ends_frees_no_lock),
        TEST(test_a_child_that_closes_an_end_changes_nothing),
        TEST(test_any_of_many_channels_ends_a_wait),
        TEST(test_the_death_of_a_peer_ends_a_wait),
        TEST(test_a_death_is_noticed_without_sleeps),
        TEST(test_a_child_that_has_the_lock_keeps_the_end),
        TEST(test_an_armed_endpoint_stays_so_in_other_waits),
        TEST(test_an_endpoint_is_armed_for_space),
        TEST(test_a_wait_that_times_out_returns_the_count),
    };

    return cmocka_run_group_tests_name("linux", tests, NULL, NULL);
}
