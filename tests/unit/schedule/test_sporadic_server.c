/* SPDX-License-Identifier: BSD-2-Clause */
/* Each rule of the sporadic server by an example. */
#include "schedule/sporadic_server.h"
#include "schedule_test.h"
#include "tokens.h"

static struct sporadic_server server;

static void start(uint64_t budget, uint64_t period, unsigned capacity, uint64_t now)
{
    assert_int_equal(sporadic_server_init(&server, budget, period, capacity, now), SCHEDULE_OK);
}

static void charge(uint64_t used, uint64_t now, uint64_t available)
{
    sporadic_server_charge(&server, used);
    assert_true(sporadic_server_available(&server, now) == available);
    check_server(&server);
}

static void block(uint64_t now)
{
    sporadic_server_block(&server, now);
    check_server(&server);
}

static void unblock(uint64_t now)
{
    sporadic_server_unblock(&server, now);
    check_server(&server);
}

static void expect(const char *replenishments, uint64_t usage)
{
    CHECK_REPLENISHMENTS(&server, replenishments);
    assert_true(server.usage == usage);
}

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(sporadic_server_init(&server, 0, 10, 2, 0), SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(sporadic_server_init(&server, 11, 10, 2, 0), SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(sporadic_server_init(&server, 1, 0, 2, 0), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(sporadic_server_init(&server, 1, 10, 1, 0), SCHEDULE_CAPACITY_OUT_OF_RANGE);
    assert_int_equal(sporadic_server_init(&server, 1, 10, 33, 0), SCHEDULE_CAPACITY_OUT_OF_RANGE);
    start(10, 10, 32, 5);
    expect("10@5", 0);
}

static void test_available(void **state)
{
    (void)state;
    start(4, 10, 4, 100);
    assert_true(sporadic_server_available(&server, 99) == 0);
    assert_true(sporadic_server_available(&server, 100) == 4);
    charge(3, 103, 1);
    charge(1, 104, 0);
    expect("4@110", 0);
    assert_true(sporadic_server_available(&server, 109) == 0);
    assert_true(sporadic_server_available(&server, 110) == 4);
}

static void test_charge_in_parts_is_the_same(void **state)
{
    (void)state;
    start(4, 10, 4, 0);
    charge(1, 1, 3);
    charge(0, 6, 3);
    charge(2, 8, 1);
    expect("4@0", 3);
    charge(1, 9, 0);
    expect("4@10", 0);
}

static void test_block_splits(void **state)
{
    (void)state;
    start(20, 50, 4, 0);
    charge(18, 28, 2);
    block(28);
    expect("2@0 18@50", 0);
    block(29);
    expect("2@0 18@50", 0);
    unblock(40);
    expect("2@40 18@50", 0);
}

static void test_block_without_use_changes_nothing(void **state)
{
    (void)state;
    start(5, 20, 2, 0);
    block(7);
    expect("5@0", 0);
    unblock(9);
    expect("5@9", 0);
}

static void test_unblock_merges_what_overlaps(void **state)
{
    (void)state;
    start(10, 40, 8, 0);
    charge(4, 4, 6);
    block(4);
    expect("6@0 4@40", 0);
    unblock(33);
    expect("6@33 4@40", 0);
    block(33);
    unblock(34); /* 34 + 6 reaches 40 */
    expect("10@34", 0);
}

/* The head keeps `now` through a chain of merges. */
static void test_merged_head_begins_now(void **state)
{
    (void)state;
    start(6, 20, 8, 0);
    for (uint64_t i = 0; i < 5; i++) {
        charge(1, 3 * i + 1, 5 - i);
        block(3 * i + 1);
        unblock(3 * i + 3);
    }
    expect("1@15 1@20 1@23 1@26 1@29 1@32", 0);
    block(15);
    unblock(60);
    expect("6@60", 0);
    charge(6, 66, 0);
    expect("6@80", 0);
}

static void test_unblock_without_budget_waits(void **state)
{
    (void)state;
    start(5, 20, 4, 0);
    charge(5, 5, 0);
    block(5);
    unblock(12);
    expect("5@20", 0);
    assert_true(sporadic_server_next_event(&server, 12) == 20);
}

static void test_preemption_does_not_merge(void **state)
{
    (void)state;
    start(20, 50, 3, 0);
    charge(18, 28, 2);
    block(28);
    unblock(40);
    charge(1, 41, 1);
    charge(0, 51, 1);
    expect("2@40 18@50", 1);
    charge(1, 52, 18);
    expect("18@50 2@90", 0);
}

static void test_overrun_is_taken_from_the_next(void **state)
{
    (void)state;
    start(10, 30, 4, 0);
    charge(4, 4, 6);
    block(4);
    unblock(10);
    expect("6@10 4@30", 0);
    charge(8, 18, 0); /* two ticks too many: those of 30 and 31 */
    expect("4@30 6@40", 2);
    assert_true(sporadic_server_available(&server, 31) == 0);
    assert_true(sporadic_server_next_event(&server, 18) == 32);
    assert_true(sporadic_server_available(&server, 32) == 2);
    charge(2, 34, 0);
    expect("6@40 4@60", 0);
}

static void test_block_after_an_overrun(void **state)
{
    (void)state;
    start(10, 30, 4, 0);
    charge(4, 4, 6);
    block(4);
    unblock(10);
    charge(8, 18, 0);
    block(18);
    expect("2@32 6@40 2@60", 0);
    unblock(31);
    expect("2@32 6@40 2@60", 0);
    unblock(33);
    expect("2@33 6@40 2@60", 0);
}

/* Charged late: part of the execution was within the following replenishment's own time. */
static void test_late_charge(void **state)
{
    (void)state;
    start(10, 30, 4, 0);
    charge(4, 4, 6);
    block(4);
    unblock(22);
    expect("6@22 4@30", 0);
    charge(9, 31, 0); /* until 28 the head's, then 30 .. 32 */
    expect("4@30 6@52", 3);
    assert_true(sporadic_server_available(&server, 33) == 1);
}

static void test_overrun_of_many_budgets(void **state)
{
    (void)state;
    start(10, 30, 4, 0);
    charge(4, 4, 6);
    block(4);
    unblock(10);
    charge(1000, 1010, 0); /* 100 budgets delay all by 100 periods */
    expect("6@3010 4@3030", 0);
    charge(7, 1017, 0);
    expect("4@3030 6@3040", 1);
}

/* Usage beyond all time does not overflow. */
static void test_endless_overrun(void **state)
{
    (void)state;
    start(1, SCHEDULE_PERIOD_MAX, 2, SCHEDULE_NOW_MAX);
    charge(UINT64_MAX, SCHEDULE_NOW_MAX, 0);
    charge(UINT64_MAX, SCHEDULE_NOW_MAX, 0);
    charge(UINT64_MAX, SCHEDULE_NOW_MAX, 0);
    assert_true(sporadic_server_next_event(&server, SCHEDULE_NOW_MAX) > SCHEDULE_NOW_MAX);
    start(3, 7, 2, 0);
    charge(1, 1, 2);
    charge(UINT64_MAX, 1, 0);
    block(1);
    unblock(2);
    assert_true(sporadic_server_next_event(&server, 2) > SCHEDULE_NOW_MAX);
}

/* Without a free slot the rest of the head joins the next replenishment (Figure 7, t = 114). */
static void test_split_of_a_full_queue(void **state)
{
    (void)state;
    start(20, 50, 2, 0);
    charge(12, 12, 8);
    block(12);
    unblock(20);
    expect("8@20 12@50", 0);
    charge(3, 23, 5);
    block(23);
    expect("17@50 3@70", 0);
    unblock(30);
    assert_true(sporadic_server_available(&server, 30) == 0);
}

/* What joins the next replenishment may make it reach the ones behind it. */
static void test_split_of_a_full_queue_that_overlaps(void **state)
{
    (void)state;
    start(6, 10, 2, 0);
    charge(2, 2, 4);
    block(2);
    unblock(4);
    expect("4@4 2@10", 0);
    charge(1, 5, 3);
    block(5);
    expect("6@10", 0);
}

/* A replenishment of 2 ticks waits for the next one if the smallest piece is 3. */
static void test_small_piece_joins_the_next(void **state)
{
    (void)state;
    for (uint64_t piece = 2; piece <= 3; piece++) {
        start(10, 40, 8, 0);
        sporadic_server_set_piece(&server, piece);
        charge(2, 2, 8);
        block(2);
        unblock(10);
        charge(4, 14, 4);
        block(14);
        expect(piece == 2 ? "4@10 2@40 4@50" : "4@10 6@48", 0);
    }
}

/* The rest of the head is there now, and stays. */
static void test_small_head_stays(void **state)
{
    (void)state;
    start(10, 40, 8, 0);
    sporadic_server_set_piece(&server, 3);
    charge(8, 8, 2);
    block(8);
    expect("2@0 8@40", 0);
}

/* A thread that blocks after each tick: there are never more than 4 + 2 replenishments, and the
 * budget that it has not used is there. */
static void test_pieces_are_bounded(void **state)
{
    (void)state;
    start(40, 400, 32, 0);
    sporadic_server_set_piece(&server, 10);
    for (uint64_t now = 0; now < 350; now += 10) {
        unblock(now);
        charge(1, now + 1, 39 - now / 10);
        block(now + 1);
        assert_true(server.replenishments.count <= 6);
    }
}

static void test_whole_processor(void **state)
{
    (void)state;
    start(10, 10, 2, 0);
    for (uint64_t now = 1; now < 100; now++) {
        charge(1, now, now % 10 == 0 ? 10 : 10 - now % 10);
    }
    block(99);
    unblock(99);
    expect("10@99", 0);
}

static void test_next_event_runs_on(void **state)
{
    (void)state;
    start(10, 40, 8, 0);
    assert_true(sporadic_server_next_event(&server, 0) == 10);
    charge(4, 4, 6);
    assert_true(sporadic_server_next_event(&server, 4) == 10);
    block(4);
    unblock(12);
    charge(2, 14, 4);
    block(14);
    unblock(30);
    expect("4@30 4@40 2@52", 0);
    assert_true(sporadic_server_next_event(&server, 30) == 34);
    assert_true(sporadic_server_next_event(&server, 36) == 44);
    assert_true(sporadic_server_next_event(&server, 44) == 54);
}

static void test_set_parameters(void **state)
{
    (void)state;
    start(10, 40, 4, 0);
    charge(4, 4, 6);
    assert_int_equal(sporadic_server_set_parameters(&server, 0, 40, 4),
                     SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(sporadic_server_set_parameters(&server, 1, 0, 4),
                     SCHEDULE_PERIOD_OUT_OF_RANGE);
    expect("10@0", 4);
    assert_int_equal(sporadic_server_set_parameters(&server, 20, 50, 5), SCHEDULE_OK);
    expect("6@5 14@41", 0);
    check_server(&server);
    assert_int_equal(sporadic_server_set_parameters(&server, 3, 50, 6), SCHEDULE_OK);
    expect("3@6", 0);
    charge(3, 9, 0);
    assert_int_equal(sporadic_server_set_parameters(&server, 5, 20, 10), SCHEDULE_OK);
    expect("3@56 2@74", 0);
    check_server(&server);
}

/* However often the parameters change, no budget is gained. */
static void test_set_parameters_again_and_again(void **state)
{
    uint64_t executed = 0;

    (void)state;
    start(10, 100, 4, 0);
    for (uint64_t now = 0; now < 1000; now++) {
        assert_int_equal(sporadic_server_set_parameters(&server, 10, 100, now), SCHEDULE_OK);
        if (sporadic_server_available(&server, now) > 0) {
            executed++;
            sporadic_server_charge(&server, 1);
        }
        check_server(&server);
    }
    assert_true(executed <= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_available),
        cmocka_unit_test(test_charge_in_parts_is_the_same),
        cmocka_unit_test(test_block_splits),
        cmocka_unit_test(test_block_without_use_changes_nothing),
        cmocka_unit_test(test_unblock_merges_what_overlaps),
        cmocka_unit_test(test_merged_head_begins_now),
        cmocka_unit_test(test_unblock_without_budget_waits),
        cmocka_unit_test(test_preemption_does_not_merge),
        cmocka_unit_test(test_overrun_is_taken_from_the_next),
        cmocka_unit_test(test_block_after_an_overrun),
        cmocka_unit_test(test_late_charge),
        cmocka_unit_test(test_overrun_of_many_budgets),
        cmocka_unit_test(test_endless_overrun),
        cmocka_unit_test(test_split_of_a_full_queue),
        cmocka_unit_test(test_split_of_a_full_queue_that_overlaps),
        cmocka_unit_test(test_small_piece_joins_the_next),
        cmocka_unit_test(test_small_head_stays),
        cmocka_unit_test(test_pieces_are_bounded),
        cmocka_unit_test(test_whole_processor),
        cmocka_unit_test(test_next_event_runs_on),
        cmocka_unit_test(test_set_parameters),
        cmocka_unit_test(test_set_parameters_again_and_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
