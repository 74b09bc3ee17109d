/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and responses. Side 1 is the client; the clock and the server are functions that its
 * sleeper calls. */
#include "channel/call.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct pair pair;
    struct channel *server;
    struct call_client client;
    uint64_t now;
    /* The server, while the client sleeps. Returns false if it rings no doorbell. */
    bool (*meanwhile)(struct fixture *fixture);
    /* The server, at each look of the client at the clock. */
    void (*at_each_look)(struct fixture *fixture);
};

static void prepare(void *context)
{
    (void)context;
}

static bool sleep_until(void *context, uint64_t deadline)
{
    struct fixture *fixture = context;

    if (fixture->meanwhile == NULL || !fixture->meanwhile(fixture)) {
        assert_true(deadline != CHANNEL_FOREVER);
        fixture->now = deadline;
        return false;
    }
    fixture->now++;
    return fixture->now < deadline;
}

static bool has_passed(void *context, uint64_t deadline)
{
    struct fixture *fixture = context;

    if (fixture->at_each_look != NULL) {
        fixture->now++;
        fixture->at_each_look(fixture);
    }
    return fixture->now >= deadline;
}

static struct channel_sleeper sleeper_of(struct fixture *fixture)
{
    return (struct channel_sleeper){
        .context = fixture, .prepare = prepare, .sleep = sleep_until, .has_passed = has_passed};
}

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.server = &fixture.pair.sides[0]};
    pair_create(&fixture.pair);
    pair_connect(&fixture.pair);
    call_begin(&fixture.client, &fixture.pair.sides[1]);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    pair_destroy(&((struct fixture *)*state)->pair);
    return 0;
}

/* Answers the oldest request with twice its number. Returns false if there is none. */
static bool serve(struct fixture *fixture)
{
    struct channel_sleeper sleeper = sleeper_of(fixture);
    uint64_t number = 0;
    uint64_t length;
    uint32_t tag;

    if (channel_receive(fixture->server, &number, sizeof(number), &length, &tag) != CHANNEL_DONE) {
        return false;
    }
    assert_true(call_is_request(tag));
    number *= 2;
    assert_int_equal(
        call_answer(fixture->server, &sleeper, fixture->now, &number, sizeof(number), tag),
        CHANNEL_DONE);
    return true;
}

static void request(struct fixture *fixture, uint64_t number)
{
    struct channel_sleeper sleeper = sleeper_of(fixture);

    assert_int_equal(
        call_request(&fixture->client, &sleeper, fixture->now, &number, sizeof(number)),
        CHANNEL_DONE);
}

static enum call_result wait_for_answer(struct fixture *fixture, uint64_t *answer)
{
    struct channel_sleeper sleeper = sleeper_of(fixture);
    const uint8_t *content;
    uint64_t length;
    enum call_result result =
        call_wait(&fixture->client, &sleeper, fixture->now + 100, &content, &length);

    if (result == CALL_ANSWERED) {
        assert_int_equal(length, sizeof(*answer));
        memcpy(answer, content, sizeof(*answer));
        call_end(&fixture->client);
    }
    return result;
}

static void expect(struct fixture *fixture, enum call_result expected, uint64_t expected_answer)
{
    uint64_t answer = 0;

    assert_int_equal(wait_for_answer(fixture, &answer), expected);
    assert_int_equal(answer, expected_answer);
}

static void test_requests_are_answered(void **state)
{
    struct fixture *fixture = *state;

    fixture->meanwhile = serve;
    for (uint64_t i = 1; i < 1000; i++) {
        request(fixture, i);
        expect(fixture, CALL_ANSWERED, 2 * i);
    }
    assert_int_equal(fixture->client.dropped, 0);
}

static void test_a_request_is_written_in_place(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t number = 21;
    uint8_t *place = call_request_begin(&fixture->client, 100);

    assert_non_null(place);
    memcpy(place, &number, sizeof(number));
    call_request_end(&fixture->client, sizeof(number));
    fixture->meanwhile = serve;
    expect(fixture, CALL_ANSWERED, 42);
}

static void test_a_wait_can_go_on_after_its_deadline(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    expect(fixture, CALL_TIMED_OUT, 0);
    expect(fixture, CALL_TIMED_OUT, 0);
    fixture->meanwhile = serve;
    expect(fixture, CALL_ANSWERED, 10);
}

/* A wait whose deadline has passed still finds a response that is there. */
static void test_a_poll_finds_the_response(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    const uint8_t *content;
    uint64_t length;

    fixture->now = 7;
    request(fixture, 5);
    assert_int_equal(call_wait(&fixture->client, &sleeper, 0, &content, &length), CALL_TIMED_OUT);
    assert_true(serve(fixture));
    assert_int_equal(call_wait(&fixture->client, &sleeper, 0, &content, &length), CALL_ANSWERED);
    call_end(&fixture->client);
    assert_int_equal(fixture->now, 7);
}

static void test_late_responses_are_dropped(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 1; i < 10; i++) {
        request(fixture, i);
        expect(fixture, CALL_TIMED_OUT, 0);
    }
    while (serve(fixture)) {
    }
    request(fixture, 10);
    fixture->meanwhile = serve;
    expect(fixture, CALL_ANSWERED, 20);
    assert_int_equal(fixture->client.dropped, 9);
}

/* The first response comes after the second one, and before the third one. */
static void test_a_server_may_answer_in_another_order(void **state)
{
    struct fixture *fixture = *state;
    uint64_t number = 0;
    uint64_t length;
    uint32_t tag;

    request(fixture, 1);
    expect(fixture, CALL_TIMED_OUT, 0);
    assert_int_equal(channel_receive(fixture->server, &number, sizeof(number), &length, &tag),
                     CHANNEL_DONE);
    fixture->meanwhile = serve;
    request(fixture, 2);
    expect(fixture, CALL_ANSWERED, 4);
    assert_int_equal(channel_send(fixture->server, &number, sizeof(number), tag), CHANNEL_DONE);
    request(fixture, 3);
    expect(fixture, CALL_ANSWERED, 6);
    assert_int_equal(fixture->client.dropped, 1);
}

/* A client that begins after another one in the same life does not take its responses. */
static void test_the_next_client_has_other_numbers(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 1);
    expect(fixture, CALL_TIMED_OUT, 0);
    assert_true(serve(fixture));
    call_begin(&fixture->client, &fixture->pair.sides[1]);
    request(fixture, 2);
    fixture->meanwhile = serve;
    expect(fixture, CALL_ANSWERED, 4);
}

/* Numbers go on in the next life of the client. */
static void test_the_next_life_has_other_numbers(void **state)
{
    struct fixture *fixture = *state;
    uint32_t tag;

    request(fixture, 1);
    tag = fixture->client.tag;
    pair_connect(&fixture->pair);
    call_begin(&fixture->client, &fixture->pair.sides[1]);
    request(fixture, 2);
    assert_int_not_equal(fixture->client.tag, tag);
}

/* No response is the one: the tag is another, or none of a request. */
static void test_other_messages_are_dropped(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 1);
    assert_int_equal(channel_send(fixture->server, "", 0, fixture->client.tag + 1), CHANNEL_DONE);
    assert_int_equal(channel_send(fixture->server, "", 0, fixture->client.tag & ~CALL_TAG),
                     CHANNEL_DONE);
    assert_int_equal(channel_send(fixture->server, "", 0, 0), CHANNEL_DONE);
    expect(fixture, CALL_TIMED_OUT, 0);
    assert_int_equal(fixture->client.dropped, 3);
    fixture->meanwhile = serve;
    expect(fixture, CALL_ANSWERED, 2);
}

/* A response that is sent twice does not spoil the calls after it. */
static void test_a_second_response_spoils_nothing(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t lie = 666;

    for (uint64_t i = 1; i < 100; i++) {
        fixture->meanwhile = serve;
        request(fixture, i);
        expect(fixture, CALL_ANSWERED, 2 * i);
        assert_int_equal(channel_send(fixture->server, &lie, 8, fixture->client.tag), CHANNEL_DONE);
    }
}

static void send_another(struct fixture *fixture)
{
    (void)channel_send(fixture->server, "", 0, 77);
}

/* The ring never becomes empty. */
static void test_a_flood_does_not_delay_the_deadline(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 1);
    send_another(fixture);
    fixture->at_each_look = send_another;
    expect(fixture, CALL_TIMED_OUT, 0);
    assert_in_range(fixture->now, 100, 101);
    assert_in_range(fixture->client.dropped, 99, 101);
}

/* The client does not drop a whole ring of messages first. */
static void test_a_wait_after_the_deadline_takes_one_message(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    const uint8_t *content;
    uint64_t length;

    request(fixture, 1);
    for (unsigned i = 0; i < 100; i++) {
        send_another(fixture);
    }
    fixture->now = 7;
    assert_int_equal(call_wait(&fixture->client, &sleeper, 7, &content, &length), CALL_TIMED_OUT);
    assert_int_equal(fixture->client.dropped, 1);
}

static void test_a_full_ring_ends_at_the_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    uint8_t content[1024] = {0};
    enum channel_result result;

    do {
        result =
            call_request(&fixture->client, &sleeper, fixture->now + 10, content, sizeof(content));
    } while (result == CHANNEL_DONE);
    assert_int_equal(result, CHANNEL_NOTHING);
    assert_int_equal(fixture->now, 10);
    assert_int_equal(call_request(&fixture->client, &sleeper, 0, content, PAIR_RING_BYTES),
                     CHANNEL_TOO_LARGE);
}

/* A client that receives nothing does not keep the server. */
static void test_an_answer_ends_at_the_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    uint8_t content[1024] = {0};
    enum channel_result result;

    do {
        result = call_answer(fixture->server, &sleeper, fixture->now + 10, content, sizeof(content),
                             CALL_TAG);
    } while (result == CHANNEL_DONE);
    assert_int_equal(result, CHANNEL_NOTHING);
    assert_int_equal(fixture->now, 10);
}

static bool receive_all(struct fixture *fixture)
{
    uint64_t length;
    uint32_t tag;

    while (channel_receive_begin(fixture->server, &length, &tag) != NULL) {
        channel_receive_end(fixture->server);
    }
    return true;
}

static void test_a_request_waits_for_space(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    uint8_t content[1024] = {0};

    fixture->meanwhile = receive_all;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(
            call_request(&fixture->client, &sleeper, CHANNEL_FOREVER, content, sizeof(content)),
            CHANNEL_DONE);
    }
}

static bool end_life(struct fixture *fixture)
{
    pair_open(&fixture->pair, 0, false);
    return true;
}

static void test_a_server_that_ends_ends_the_call(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    fixture->meanwhile = end_life;
    expect(fixture, CALL_NOT_CONNECTED, 0);
    assert_int_equal(fixture->pair.sides[1].state, CHANNEL_ENDED);
}

static void test_a_response_of_a_server_that_ended_is_received(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    assert_true(serve(fixture));
    assert_true(end_life(fixture));
    expect(fixture, CALL_ANSWERED, 10);
}

/* The new life knows nothing of the request, and its messages stay for whoever receives them. */
static void test_a_call_does_not_go_on_in_the_servers_next_life(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    pair_open(&fixture->pair, 0, false);
    expect(fixture, CALL_NOT_CONNECTED, 0);
    channel_accept(&fixture->pair.sides[1]);
    pair_settle(&fixture->pair);
    assert_true(pair_send(fixture->server, 7));
    expect(fixture, CALL_NOT_CONNECTED, 0);
    pair_expect(&fixture->pair.sides[1], 7);
    fixture->meanwhile = serve;
    request(fixture, 6);
    expect(fixture, CALL_ANSWERED, 12);
}

static void test_a_call_does_not_go_on_in_the_clients_next_life(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    channel_reset(&fixture->pair.sides[1]);
    channel_update(fixture->server);
    channel_accept(fixture->server);
    (void)receive_all(fixture);
    channel_accept(fixture->server);
    pair_settle(&fixture->pair);
    assert_int_equal(fixture->pair.sides[1].state, CHANNEL_CONNECTED);
    expect(fixture, CALL_NOT_CONNECTED, 0);
}

static void test_a_server_that_violates_the_format_ends_the_call(void **state)
{
    struct fixture *fixture = *state;

    request(fixture, 5);
    fixture->pair.sections[0]->control.produced += 4;
    expect(fixture, CALL_NOT_CONNECTED, 0);
    assert_int_equal(fixture->pair.sides[1].state, CHANNEL_FAILED);
    expect(fixture, CALL_NOT_CONNECTED, 0);
}

static void test_nothing_is_received_without_a_request(void **state)
{
    struct fixture *fixture = *state;

    assert_true(pair_send(fixture->server, 7));
    expect(fixture, CALL_NOT_CONNECTED, 0);
    pair_expect(&fixture->pair.sides[1], 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_requests_are_answered),
        TEST(test_a_request_is_written_in_place),
        TEST(test_a_wait_can_go_on_after_its_deadline),
        TEST(test_a_poll_finds_the_response),
        TEST(test_late_responses_are_dropped),
        TEST(test_a_server_may_answer_in_another_order),
        TEST(test_the_next_client_has_other_numbers),
        TEST(test_the_next_life_has_other_numbers),
        TEST(test_other_messages_are_dropped),
        TEST(test_a_second_response_spoils_nothing),
        TEST(test_a_flood_does_not_delay_the_deadline),
        TEST(test_a_wait_after_the_deadline_takes_one_message),
        TEST(test_a_full_ring_ends_at_the_deadline),
        TEST(test_an_answer_ends_at_the_deadline),
        TEST(test_a_request_waits_for_space),
        TEST(test_a_server_that_ends_ends_the_call),
        TEST(test_a_response_of_a_server_that_ended_is_received),
        TEST(test_a_call_does_not_go_on_in_the_servers_next_life),
        TEST(test_a_call_does_not_go_on_in_the_clients_next_life),
        TEST(test_a_server_that_violates_the_format_ends_the_call),
        TEST(test_nothing_is_received_without_a_request),
    };

    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
