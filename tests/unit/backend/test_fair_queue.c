/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which clients are served: fairness by bytes, limits, what a hostile client can gain,
 * and random loads beside a model that counts each round alone.
 */
#include "backend/fair_queue.h"
#include "backend_test.h"
#include <string.h>

#define CLIENTS   4u
#define FRAME_MAX 1514u
#define BURST     20000u

static struct fair_queue queue;
static struct fair_turn turn;
static uint64_t sent[FAIR_QUEUE_CLIENTS_MAX];
static uint64_t random_state;

static void begin(const struct fair_share *shares, unsigned count)
{
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, shares, count, 0), FAIR_QUEUE_OK);
    memset(sent, 0, sizeof(sent));
    random_state = 1;
}

static void begin_with_weights(uint32_t first, uint32_t second, uint32_t third, uint32_t fourth)
{
    const struct fair_share shares[CLIENTS] = {
        {.weight = first}, {.weight = second}, {.weight = third}, {.weight = fourth}};

    begin(shares, CLIENTS);
}

static void all_ready(void)
{
    for (unsigned i = 0; i < queue.count; i++) {
        fair_queue_ready(&queue, i);
    }
}

static uint32_t any_frame(void)
{
    return (uint32_t)random_between(&random_state, FAIR_QUEUE_COST_MIN, FRAME_MAX);
}

static bool charge(uint32_t bytes)
{
    bool is_served = fair_queue_charge(&queue, bytes);

    sent[turn.client] += is_served ? bytes : 0;
    return is_served;
}

/* Serves whoever is next with frames of `sizes` bytes, by client. */
static void serve(const uint32_t sizes[], unsigned times, uint64_t now)
{
    for (unsigned i = 0; i < times; i++) {
        assert_int_equal(fair_queue_next(&queue, now, &turn), FAIR_QUEUE_SERVE);
        (void)charge(sizes[turn.client]);
    }
}

static void test_parameters(void **state)
{
    struct fair_share share = {.weight = 1, .rate = 1, .burst = FRAME_MAX};

    (void)state;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0), FAIR_QUEUE_OK);
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 17, 0),
                     FAIR_QUEUE_CLIENTS_OUT_OF_RANGE);
    assert_int_equal(fair_queue_init(&queue, 59, &share, 1, 0), FAIR_QUEUE_FRAME_OUT_OF_RANGE);
    assert_int_equal(fair_queue_init(&queue, (1u << 17) + 1, &share, 1, 0),
                     FAIR_QUEUE_FRAME_OUT_OF_RANGE);
    share.burst--;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0),
                     FAIR_QUEUE_BURST_OUT_OF_RANGE);
    share.rate = 0;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0), FAIR_QUEUE_OK);
    share.rate = TOKEN_BUCKET_RATE_MAX + 1;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0),
                     FAIR_QUEUE_RATE_OUT_OF_RANGE);
    share.weight = 0;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0),
                     FAIR_QUEUE_WEIGHT_OUT_OF_RANGE);
    share.weight = FAIR_QUEUE_WEIGHT_MAX + 1;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 0),
                     FAIR_QUEUE_WEIGHT_OUT_OF_RANGE);
}

static void test_no_clients(void **state)
{
    (void)state;
    begin(NULL, 0);
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_IDLE);
}

static void test_only_clients_with_frames_are_served(void **state)
{
    (void)state;
    begin_with_weights(1, 1, 1, 1);
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_IDLE);
    assert_false(fair_queue_charge(&queue, 60));
    fair_queue_ready(&queue, 2);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
        assert_int_equal(turn.client, 2);
        assert_true(turn.bytes >= FAIR_QUEUE_COST_MIN);
        (void)charge(1000);
    }
    fair_queue_empty(&queue, 2);
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_IDLE);
}

/* Checks that all clients had the same number of turns, up to one, and that each of them has sent
 * its quantum in each turn, up to one frame. */
static void check_fairness(void)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (unsigned i = 0; i < queue.count; i++) {
        const struct fair_client *client = &queue.clients[i];
        uint64_t quantum = (uint64_t)client->quantum, deficit = (uint64_t)client->deficit;
        uint64_t turns = (sent[i] + deficit) / quantum;

        assert_true((sent[i] + deficit) % quantum == 0);
        if (!queue.is_in_turn || queue.current != i) {
            assert_true(deficit < FRAME_MAX);
        }
        least = turns < least ? turns : least;
        most = turns > most ? turns : most;
    }
    assert_true(most - least <= 1);
}

/* The error of a client is never more than one frame in the sum of all rounds. */
static void test_fairness_of_random_frames(void **state)
{
    static const uint32_t weights[][CLIENTS] = {
        {1, 1, 1, 1}, {1, 2, 3, 4}, {1000, 1, 30, 7}, {65535, 1, 65535, 2}, {256, 512, 256, 100}};

    (void)state;
    for (unsigned i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        const uint32_t *weight = weights[i];

        begin_with_weights(weight[0], weight[1], weight[2], weight[3]);
        all_ready();
        for (unsigned j = 0; j < CLIENTS; j++) {
            assert_true((uint64_t)queue.clients[j].quantum * weight[0] ==
                        (uint64_t)queue.clients[0].quantum * weight[j]);
        }
        for (unsigned frame = 0; frame < 20000; frame++) {
            assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
            (void)charge(any_frame());
            check_fairness();
        }
    }
}

/* Small frames and large ones: the bytes are the same. */
static void test_fairness_of_four_clients(void **state)
{
    const uint32_t sizes[CLIENTS] = {60, FRAME_MAX, 700, 99};

    (void)state;
    begin_with_weights(1, 1, 1, 1);
    all_ready();
    serve(sizes, 200000, 0);
    for (unsigned i = 1; i < CLIENTS; i++) {
        assert_true(sent[i] + UINT64_C(2) * FRAME_MAX >= sent[0] &&
                    sent[i] <= sent[0] + UINT64_C(2) * FRAME_MAX);
    }
}

/* A frame of any length costs what a frame of the standard's lengths costs. */
static void test_costs(void **state)
{
    (void)state;
    begin_with_weights(1, 1, 1, 1);
    fair_queue_ready(&queue, 0);
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
    assert_int_equal(turn.bytes, FRAME_MAX);
    assert_true(fair_queue_charge(&queue, 0));
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
    assert_int_equal(turn.bytes, FRAME_MAX - FAIR_QUEUE_COST_MIN);
    assert_false(fair_queue_charge(&queue, UINT32_MAX));
    assert_false(fair_queue_charge(&queue, 0)); /* the turn has ended */
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
    assert_int_equal(turn.bytes, 2 * FRAME_MAX - FAIR_QUEUE_COST_MIN);
    assert_true(fair_queue_charge(&queue, UINT32_MAX));
}

/* A client that has no frames between its turns saves nothing for later. */
static void test_no_turn_can_be_saved(void **state)
{
    const uint32_t sizes[CLIENTS] = {FRAME_MAX, FRAME_MAX, FRAME_MAX, FRAME_MAX};

    (void)state;
    begin_with_weights(1, 1, 1, 1);
    fair_queue_ready(&queue, 0);
    fair_queue_ready(&queue, 1);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
        if (turn.client == 0) {
            fair_queue_empty(&queue, 0);
            fair_queue_ready(&queue, 0);
            continue;
        }
        (void)charge(FRAME_MAX);
    }
    sent[0] = sent[1] = 0;
    serve(sizes, 100, 0);
    assert_true(sent[0] <= sent[1] + FRAME_MAX);
}

/* A client that changes its frame after each refusal makes the back-end take at most two frames in
 * vain for each that is sent. */
static void test_frames_that_change_are_refused_twice_at_most(void **state)
{
    uint64_t refused = 0, served = 0;

    (void)state;
    begin_with_weights(1, 65535, 65535, 65535); /* a client that needs many rounds */
    all_ready();
    for (unsigned i = 0; i < 300000; i++) {
        bool is_hostile, is_served;

        assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
        is_hostile = turn.client == 0;
        is_served = charge(is_hostile ? turn.bytes + 1 : FRAME_MAX);
        refused += is_hostile && !is_served;
        served += is_hostile && is_served;
    }
    assert_true(served > 0);
    assert_true(refused <= 2 * (served + 1));
}

/* A client that sends to all others does not send more copies than they send frames. */
static void test_copies_are_paid(void **state)
{
    const unsigned ports = 8;
    uint64_t copied = 0;

    (void)state;
    begin_with_weights(1, 1, 1, 1);
    all_ready();
    for (unsigned i = 0; i < 100000; i++) {
        assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
        if (charge(any_frame()) && turn.client == 0) {
            fair_queue_charge_copies(&queue, 1000, ports - 1);
            copied += UINT64_C(1000) * (ports - 1);
            /* The debt can't be left behind by having no frames for a moment. */
            fair_queue_empty(&queue, 0);
            fair_queue_ready(&queue, 0);
        }
    }
    assert_true(copied + sent[0] <= sent[1] + (uint64_t)ports * FRAME_MAX);
    assert_true(copied > sent[1] / 2);
    /* The debt of a client delays nobody if it is alone. */
    for (unsigned i = 1; i < CLIENTS; i++) {
        fair_queue_empty(&queue, i);
    }
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
    fair_queue_charge_copies(&queue, UINT32_MAX, FAIR_QUEUE_CLIENTS_MAX);
    assert_int_equal(fair_queue_next(&queue, 0, &turn), FAIR_QUEUE_SERVE);
    assert_int_equal(turn.client, 0);
    assert_true(turn.bytes >= FAIR_QUEUE_COST_MIN && turn.bytes <= FRAME_MAX);
}

/* A limit holds exactly, and the others get what is left. */
static void test_a_limit(void **state)
{
    const struct fair_share shares[2] = {{.weight = 1, .rate = 1000000, .burst = BURST},
                                         {.weight = 1}};
    const uint64_t end = 10 * SECOND;

    (void)state;
    begin(shares, 2);
    all_ready();
    for (uint64_t now = 0; now < end; now += 100000) { /* 15 MB/s */
        assert_int_equal(fair_queue_next(&queue, now, &turn), FAIR_QUEUE_SERVE);
        while (!charge(FRAME_MAX)) {
            assert_int_equal(fair_queue_next(&queue, now, &turn), FAIR_QUEUE_SERVE);
        }
    }
    assert_true(sent[0] <= 10000000 + BURST);
    assert_true(sent[0] >= 10000000 + BURST - 3 * FRAME_MAX);
    assert_true(sent[0] + sent[1] == UINT64_C(100000) * FRAME_MAX);
}

/* If all wait, the answer is the very nanosecond at which the first of them can be served. */
static void test_the_wait_is_exact(void **state)
{
    const struct fair_share shares[2] = {{.weight = 1, .rate = 777777, .burst = FRAME_MAX},
                                         {.weight = 3, .rate = 123457, .burst = 2 * FRAME_MAX}};
    uint64_t now = UINT64_MAX - 1000 * SECOND, waits = 0;

    (void)state;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, shares, 2, now), FAIR_QUEUE_OK);
    all_ready();
    for (unsigned i = 0; i < 100000; i++) {
        switch (fair_queue_next(&queue, now, &turn)) {
        case FAIR_QUEUE_SERVE:
            (void)charge(any_frame());
            break;
        case FAIR_QUEUE_WAIT:
            waits++;
            now = turn.time - 1;
            assert_int_equal(fair_queue_next(&queue, now, &turn), FAIR_QUEUE_WAIT);
            assert_true(turn.time == now + 1);
            now = turn.time;
            assert_int_equal(fair_queue_next(&queue, now, &turn), FAIR_QUEUE_SERVE);
            break;
        default:
            fail();
        }
    }
    assert_true(waits > 10000);
}

static void test_the_time_jumps(void **state)
{
    const struct fair_share share = {.weight = 1, .rate = 1000000, .burst = FRAME_MAX};

    (void)state;
    assert_int_equal(fair_queue_init(&queue, FRAME_MAX, &share, 1, 3600 * SECOND), FAIR_QUEUE_OK);
    all_ready();
    assert_int_equal(fair_queue_next(&queue, 3600 * SECOND, &turn), FAIR_QUEUE_SERVE);
    assert_true(charge(FRAME_MAX));
    assert_int_equal(fair_queue_next(&queue, 5, &turn), FAIR_QUEUE_WAIT);
    assert_true(turn.time == 5 + FAIR_QUEUE_COST_MIN * 1000);
    /* A jump forward is worth one burst. */
    assert_int_equal(fair_queue_next(&queue, 7200 * SECOND, &turn), FAIR_QUEUE_SERVE);
    assert_int_equal(turn.bytes, FRAME_MAX);
    assert_true(charge(FRAME_MAX));
    assert_int_equal(fair_queue_next(&queue, 7200 * SECOND, &turn), FAIR_QUEUE_WAIT);
}

/* The model: the same rules, one visit after the other, with all frames in sight. */
struct model_client {
    struct token_bucket bucket;
    uint64_t deficit;
    uint32_t frames[64]; /* not served yet, the first at `first` */
    unsigned first, count;
    uint32_t known; /* cost of the next frame, as far as the queue can know it */
};

static struct model_client model[CLIENTS];
static unsigned model_current;
static bool model_in_turn;

static uint32_t *next_frame(struct model_client *client)
{
    return &client->frames[client->first % 64];
}

static bool model_can_pay(struct model_client *client, uint32_t bytes, uint64_t now)
{
    token_bucket_refill(&client->bucket, now);
    return client->count > 0 && token_bucket_bytes(&client->bucket) >= bytes;
}

static bool model_has_eligible(uint64_t now)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (model_can_pay(&model[i], model[i].known, now)) {
            return true;
        }
    }
    return false;
}

/* Returns true if there is a client to serve: model_current. */
static bool model_next(uint64_t now)
{
    struct model_client *client = &model[model_current];

    if (model_in_turn && model_can_pay(client, client->known, now) &&
        client->deficit >= client->known) {
        return true;
    }
    model_in_turn = false;
    while (!model_in_turn && model_has_eligible(now)) {
        model_current = (model_current + 1) % CLIENTS;
        client = &model[model_current];
        if (model_can_pay(client, client->known, now)) {
            if (client->deficit < client->known) {
                client->deficit += (uint64_t)queue.clients[model_current].quantum;
            }
            model_in_turn = client->deficit >= client->known;
        }
    }
    return model_in_turn;
}

/* Returns true if the next frame of model_current is served. */
static bool model_serve(void)
{
    struct model_client *client = &model[model_current];
    uint32_t cost = *next_frame(client);

    if (client->deficit < cost || token_bucket_bytes(&client->bucket) < cost) {
        client->known = cost;
        model_in_turn = false;
        return false;
    }
    client->deficit -= cost;
    token_bucket_charge(&client->bucket, cost);
    client->known = FAIR_QUEUE_COST_MIN;
    client->first++;
    client->count--;
    return true;
}

static void begin_model(const struct fair_share shares[])
{
    memset(model, 0, sizeof(model));
    model_current = 0;
    model_in_turn = false;
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_true(token_bucket_init(&model[i].bucket, shares[i].rate, shares[i].burst, 0));
        model[i].known = FAIR_QUEUE_COST_MIN;
    }
}

static void add_frames(void)
{
    unsigned number = (unsigned)random_below(&random_state, CLIENTS);
    unsigned frames = (unsigned)random_below(&random_state, 12);

    for (unsigned i = 0; i < frames && model[number].count < 64; i++) {
        model[number].frames[(model[number].first + model[number].count++) % 64] = any_frame();
    }
    if (model[number].count > 0) {
        fair_queue_ready(&queue, number);
    }
}

/* Serves the queue and the model until nobody can be served, or `most` times. Returns the answer of
 * the queue. */
static enum fair_queue_answer serve_beside_model(uint64_t now, unsigned most)
{
    enum fair_queue_answer answer = FAIR_QUEUE_SERVE;

    for (unsigned i = 0; i < most && answer == FAIR_QUEUE_SERVE; i++) {
        struct model_client *client;

        answer = fair_queue_next(&queue, now, &turn);
        assert_int_equal(answer == FAIR_QUEUE_SERVE, model_next(now));
        if (answer == FAIR_QUEUE_SERVE) {
            uint32_t bytes;

            client = &model[model_current];
            bytes = *next_frame(client);
            assert_int_equal(turn.client, model_current);
            assert_int_equal(charge(bytes), model_serve());
            if (client->count == 0) {
                fair_queue_empty(&queue, model_current);
                client->deficit = 0;
                model_in_turn = false;
            }
        }
    }
    return answer;
}

/* Begins with random weights and limits. */
static void begin_random(uint64_t seed, struct fair_share shares[])
{
    uint64_t weight_max;

    random_state = seed;
    weight_max = random_between(&random_state, 1, 3000);

    for (unsigned i = 0; i < CLIENTS; i++) {
        shares[i] = (struct fair_share){
            .weight = (uint32_t)random_between(&random_state, 1, weight_max),
            .rate = random_below(&random_state, 2) * random_below(&random_state, 5000000),
            .burst = (uint32_t)random_between(&random_state, FRAME_MAX, BURST),
        };
    }
    begin(shares, CLIENTS);
    random_state = seed;
}

/* The queue serves the clients in the model's order, and no client sends more than its limit. */
static void test_random_loads(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct fair_share shares[CLIENTS];
        uint64_t now = 0;

        begin_random(round, shares);
        begin_model(shares);
        for (unsigned i = 0; i < 300; i++) {
            now += random_below(&random_state, 4000000);
            add_frames();
            if (serve_beside_model(now, (unsigned)random_below(&random_state, 20)) ==
                FAIR_QUEUE_WAIT) {
                now = turn.time;
            }
        }
        for (unsigned i = 0; i < CLIENTS; i++) {
            assert_true(shares[i].rate == 0 ||
                        sent[i] <= shares[i].burst + shares[i].rate * (now / 1000) / 1000000 + 1);
        }
    }
}

/* A client is served unless all clients that have frames are held back. */
static void test_random_calls(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct fair_share shares[CLIENTS];
        uint64_t now = 0;

        begin_random(round, shares);
        for (unsigned i = 0; i < 20000; i++) {
            unsigned client = (unsigned)random_below(&random_state, CLIENTS);

            switch (random_below(&random_state, 8)) {
            case 0:
                fair_queue_empty(&queue, client);
                break;
            case 1:
                fair_queue_ready(&queue, client);
                break;
            case 2:
                now = random_below(&random_state, 10) == 0 ? random_below(&random_state, UINT64_MAX)
                                                           : now + 1000000;
                break;
            case 3:
                (void)fair_queue_charge(&queue, (uint32_t)random_below(&random_state, UINT64_MAX));
                break;
            default:
                if (fair_queue_next(&queue, now, &turn) == FAIR_QUEUE_SERVE) {
                    assert_true(queue.clients[turn.client].has_frames);
                    assert_true(fair_queue_charge(&queue, turn.bytes));
                }
            }
            for (unsigned j = 0; j < CLIENTS; j++) {
                assert_true(queue.clients[j].deficit <
                            (int32_t)FRAME_MAX + queue.clients[j].quantum);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_no_clients),
        cmocka_unit_test(test_only_clients_with_frames_are_served),
        cmocka_unit_test(test_fairness_of_random_frames),
        cmocka_unit_test(test_fairness_of_four_clients),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_no_turn_can_be_saved),
        cmocka_unit_test(test_frames_that_change_are_refused_twice_at_most),
        cmocka_unit_test(test_copies_are_paid),
        cmocka_unit_test(test_a_limit),
        cmocka_unit_test(test_the_wait_is_exact),
        cmocka_unit_test(test_the_time_jumps),
        cmocka_unit_test(test_random_loads),
        cmocka_unit_test(test_random_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
