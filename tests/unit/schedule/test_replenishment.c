/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of replenishments: nothing is lost, and nothing becomes available earlier. */
#include "schedule/replenishment.h"
#include "schedule_test.h"
#include "tokens.h"

/* A server is a queue that check_replenishments() can print. */
static struct sporadic_server server;
static struct replenishment_queue *const queue = &server.replenishments;

static void start(unsigned capacity)
{
    assert_int_equal(replenishment_queue_init(queue, capacity), SCHEDULE_OK);
}

static void append(uint64_t amount, uint64_t time)
{
    replenishment_queue_append(queue, time, amount);
}

static void test_capacity(void **state)
{
    (void)state;
    assert_int_equal(replenishment_queue_init(queue, 0), SCHEDULE_CAPACITY_OUT_OF_RANGE);
    assert_int_equal(replenishment_queue_init(queue, 1), SCHEDULE_CAPACITY_OUT_OF_RANGE);
    assert_int_equal(replenishment_queue_init(queue, 33), SCHEDULE_CAPACITY_OUT_OF_RANGE);
    for (unsigned capacity = 2; capacity <= 32; capacity++) {
        start(capacity);
        for (unsigned i = 0; i < capacity; i++) {
            assert_false(replenishment_queue_is_full(queue));
            append(1, UINT64_C(10) * i);
        }
        assert_true(replenishment_queue_is_full(queue));
    }
}

static void test_order_and_wrap(void **state)
{
    (void)state;
    start(3);
    append(5, 0);
    append(2, 10);
    append(3, 20);
    assert_true(replenishment_queue_pop(queue).amount == 5);
    append(5, 30);
    CHECK_REPLENISHMENTS(&server, "2@10 3@20 5@30");
    assert_true(replenishment_queue_pop(queue).time == 10);
    assert_true(replenishment_queue_pop(queue).time == 20);
    append(1, 40);
    replenishment_queue_delay(queue, 7);
    CHECK_REPLENISHMENTS(&server, "5@37 1@47");
}

/* A time of 0 is a time as any other. */
static void test_zero_is_no_mark(void **state)
{
    (void)state;
    start(2);
    append(4, 0);
    assert_int_equal(queue->count, 1);
    append(4, 8);
    CHECK_REPLENISHMENTS(&server, "4@0 4@8");
}

static void test_what_is_reached_is_extended(void **state)
{
    (void)state;
    start(4);
    append(4, 0);
    append(2, 4);
    CHECK_REPLENISHMENTS(&server, "6@0");
    append(2, 3);
    CHECK_REPLENISHMENTS(&server, "8@0");
    append(1, 9);
    CHECK_REPLENISHMENTS(&server, "8@0 1@9");
}

static void test_full_queue_delays_the_last(void **state)
{
    (void)state;
    start(2);
    append(4, 0);
    append(3, 10);
    append(2, 50);
    CHECK_REPLENISHMENTS(&server, "4@0 5@47");
}

static void test_merge_keeps_the_heads_time(void **state)
{
    (void)state;
    start(4);
    append(4, 10);
    append(1, 15);
    append(5, 17);
    append(1, 30);
    replenishment_queue_merge_head(queue);
    CHECK_REPLENISHMENTS(&server, "4@10 1@15 5@17 1@30");
    replenishment_queue_head(queue)->time = 11;
    replenishment_queue_merge_head(queue);
    CHECK_REPLENISHMENTS(&server, "5@11 5@17 1@30");
    replenishment_queue_head(queue)->time = 20;
    replenishment_queue_merge_head(queue);
    CHECK_REPLENISHMENTS(&server, "11@20");
    replenishment_queue_merge_head(queue);
    CHECK_REPLENISHMENTS(&server, "11@20");
}

static void test_postponed_head_joins_the_next(void **state)
{
    (void)state;
    start(4);
    append(2, 100);
    append(2, 130);
    append(2, 140);
    replenishment_queue_postpone_head(queue);
    CHECK_REPLENISHMENTS(&server, "4@130 2@140");
    append(9, 150);
    append(1, 170);
    replenishment_queue_head(queue)->amount = 9;
    replenishment_queue_postpone_head(queue);
    CHECK_REPLENISHMENTS(&server, "20@140 1@170");
}

/* Random calls on a queue: the sum is kept, and no tick becomes available earlier. */
static void test_random_calls(void **state)
{
    uint64_t random = 7;
    struct tokens before;
    struct tokens after;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t time = 0;
        uint64_t amount = 0;

        start((unsigned)random_between(&random, 2, 32));
        for (uint64_t entries = random_between(&random, 2, queue->capacity); entries > 0;
             entries--) {
            time += amount + random_below(&random, 5);
            amount = random_between(&random, 1, 4);
            append(amount, time);
        }
        if (queue->count < 2) {
            continue;
        }
        server.usage = 0;
        tokens_of_server(&before, &server);
        if (random_below(&random, 2) == 0) {
            time += random_below(&random, 9);
            amount = random_between(&random, 1, 4);
            append(amount, time);
            for (uint64_t k = 0; k < amount; k++) {
                before.time[before.count++] = time + k;
            }
        } else {
            replenishment_queue_postpone_head(queue);
        }
        tokens_of_server(&after, &server);
        assert_int_equal(after.count, before.count);
        for (unsigned k = 0; k < after.count; k++) {
            assert_true(after.time[k] >= before.time[k]);
            assert_true(k == 0 || after.time[k] > after.time[k - 1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_order_and_wrap),
        cmocka_unit_test(test_zero_is_no_mark),
        cmocka_unit_test(test_what_is_reached_is_extended),
        cmocka_unit_test(test_full_queue_delays_the_last),
        cmocka_unit_test(test_merge_keeps_the_heads_time),
        cmocka_unit_test(test_postponed_head_joins_the_next),
        cmocka_unit_test(test_random_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
