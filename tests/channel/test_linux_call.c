/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls between two processes of Linux, over a file: the second process is the server. */
#include "channel/call.h"
#include "channel/linux.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND     UINT64_C(1000000000)
#define CALLS      20000u
#define PATIENCE_S 120u /* after which a signal ends a process */

/* The server answers each request with twice its number. A request may ask for one of these, too.
 */
enum request { ANSWER, ANSWER_LATE, FLOOD, END };

struct message {
    uint64_t number;
    uint64_t request; /* enum request */
};

struct fixture {
    char folder[32];
    char path[40];
    struct linux_endpoint *endpoint;
    struct channel_sleeper sleeper;
    struct call_client client;
    pid_t server;
};

static struct linux_endpoint *begin(const char *path, unsigned end)
{
    char problem[LINUX_PROBLEM_BYTES];
    struct linux_endpoint *endpoint =
        linux_map_file(path, end, LINUX_MESSAGES, CHANNEL_RING_MIN, problem);

    if (endpoint == NULL || !linux_begin(endpoint, problem)) {
        (void)fprintf(stderr, "%s\n", problem);
        abort();
    }
    return endpoint;
}

static void answer(struct linux_endpoint *endpoint, struct message message, uint32_t tag)
{
    const struct channel_sleeper sleeper = linux_sleeper(endpoint);
    struct channel *channel = linux_channel(endpoint);

    if (message.request == ANSWER_LATE) {
        (void)usleep(200000);
    }
    while (message.request == FLOOD &&
           call_answer(channel, &sleeper, linux_now() + SECOND, "", 0, tag + 1) == CHANNEL_DONE) {
    }
    message.number *= 2;
    (void)call_answer(channel, &sleeper, linux_now() + SECOND, &message, sizeof(message), tag);
}

/* Serves until the client ends, or asks for the end. */
static void serve(const char *path)
{
    struct linux_endpoint *endpoint = begin(path, 1);
    struct channel *channel = linux_channel(endpoint);
    struct message message = {0};

    while (channel_update(channel) != CHANNEL_ENDED && message.request != END) {
        uint64_t length;
        uint32_t tag;

        (void)linux_wait_for_message(endpoint, linux_now() + SECOND);
        if (channel_receive(channel, &message, sizeof(message), &length, &tag) == CHANNEL_DONE &&
            call_is_request(tag) && message.request != END) {
            answer(endpoint, message, tag);
        }
    }
    linux_close(endpoint);
}

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.folder = "/tmp/bulkhead-call-XXXXXX"};
    assert_non_null(mkdtemp(fixture.folder));
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/c", fixture.folder);
    fixture.server = fork();
    assert_true(fixture.server >= 0);
    if (fixture.server == 0) {
        (void)alarm(PATIENCE_S); /* fork() inherits none */
        serve(fixture.path);
        _exit(0);
    }
    fixture.endpoint = begin(fixture.path, 0);
    fixture.sleeper = linux_sleeper(fixture.endpoint);
    while (channel_update(linux_channel(fixture.endpoint)) == CHANNEL_CONNECTING) {
        assert_true(linux_wait_for_message(fixture.endpoint, linux_now() + 60 * SECOND));
    }
    call_begin(&fixture.client, linux_channel(fixture.endpoint));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const ends[] = {"", ".0", ".1"};
    struct fixture *fixture = *state;
    char name[48];
    int status;

    linux_close(fixture->endpoint);
    assert_int_equal(waitpid(fixture->server, &status, 0), fixture->server);
    assert_int_equal(status, 0);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", fixture->path, ends[i]);
        assert_int_equal(unlink(name), 0);
    }
    return rmdir(fixture->folder);
}

static enum call_result call(struct fixture *fixture, enum request request, uint64_t timeout,
                             uint64_t number)
{
    const struct message message = {number, request};
    struct message response;
    const uint8_t *content;
    uint64_t length;
    enum call_result result;

    assert_int_equal(call_request(&fixture->client, &fixture->sleeper, linux_now() + 60 * SECOND,
                                  &message, sizeof(message)),
                     CHANNEL_DONE);
    result =
        call_wait(&fixture->client, &fixture->sleeper, linux_now() + timeout, &content, &length);
    if (result == CALL_ANSWERED) {
        assert_int_equal(length, sizeof(response));
        memcpy(&response, content, sizeof(response));
        assert_int_equal(response.number, 2 * number);
        call_end(&fixture->client);
    }
    return result;
}

static void test_calls_are_answered(void **state)
{
    for (uint64_t i = 0; i < CALLS; i++) {
        assert_int_equal(call(*state, ANSWER, 60 * SECOND, i), CALL_ANSWERED);
    }
}

static void test_a_late_response_is_dropped(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(call(fixture, ANSWER_LATE, SECOND / 100, 1), CALL_TIMED_OUT);
    assert_int_equal(call(fixture, ANSWER, 60 * SECOND, 2), CALL_ANSWERED);
    assert_int_equal(fixture->client.dropped, 1);
}

static void test_a_flood_does_not_delay_the_deadline(void **state)
{
    struct fixture *fixture = *state;
    uint64_t begin = linux_now();

    assert_int_equal(call(fixture, FLOOD, SECOND / 5, 1), CALL_TIMED_OUT);
    assert_in_range(linux_now() - begin, SECOND / 5, 30 * SECOND);
    assert_true(fixture->client.dropped > 0);
}

static void test_the_end_of_the_server_ends_the_call(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(call(fixture, END, 60 * SECOND, 1), CALL_NOT_CONNECTED);
    assert_int_equal(linux_channel(fixture->endpoint)->state, CHANNEL_ENDED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_calls_are_answered),
        TEST(test_a_late_response_is_dropped),
        TEST(test_a_flood_does_not_delay_the_deadline),
        TEST(test_the_end_of_the_server_ends_the_call),
    };

    (void)alarm(PATIENCE_S);
    return cmocka_run_group_tests_name("linux call", tests, NULL, NULL);
}
