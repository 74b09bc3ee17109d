/* SPDX-License-Identifier: BSD-2-Clause */
/* Each rule of the PIBS server by an example, and its bandwidth under random requests. */
#include "schedule/pibs_server.h"
#include "schedule_test.h"

static struct pibs_server server;

static void start(uint64_t budget, uint64_t period, uint64_t now)
{
    assert_int_equal(pibs_server_init(&server, budget, period, now), SCHEDULE_OK);
}

static void expect(uint64_t now, uint64_t available, uint64_t next_event)
{
    assert_true(pibs_server_available(&server, now) == available);
    assert_true(pibs_server_next_event(&server, now) == next_event);
}

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(pibs_server_init(&server, 1, 0, 0), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(pibs_server_init(&server, 0, 5, 0), SCHEDULE_BUDGET_OUT_OF_RANGE);
    start(1, 25, 0);
    expect(3, 0, SCHEDULE_NEVER);
    assert_true(pibs_server_share(1, 25, 50) == 2);
    assert_true(pibs_server_share(1, 25, 74) == 2);
    assert_true(pibs_server_share(1, 25, 3) == 1);
    assert_true(pibs_server_share(7, 7, 3) == 3);
}

static void charge(uint64_t used, uint64_t now, uint64_t available)
{
    pibs_server_charge(&server, used);
    assert_true(pibs_server_available(&server, now) == available);
}

/* The I/O VCPU of Figure 7: 4 % of 50. */
static void test_full_budget(void **state)
{
    (void)state;
    start(4, 100, 0);
    pibs_server_unblock(&server, 50, 28);
    expect(28, 2, 30);
    charge(2, 30, 0);
    expect(30, 0, 78);
    pibs_server_block(&server);
    pibs_server_unblock(&server, 50, 68);
    expect(68, 0, 78);
    expect(78, 2, 80);
}

static void test_partial_use_costs_its_share(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 5);
    charge(3, 8, 7);
    pibs_server_block(&server);
    pibs_server_unblock(&server, 100, 9);
    expect(9, 0, 35);
    expect(35, 10, 45);
}

static void test_rounds_against_the_server(void **state)
{
    (void)state;
    start(3, 10, 0);
    pibs_server_unblock(&server, 10, 0);
    charge(1, 1, 2);
    pibs_server_block(&server);
    pibs_server_unblock(&server, 10, 1);
    expect(1, 0, 4); /* 1 / 0.3 = 3.33 */
}

/* Time without requests is not saved up. */
static void test_idle_time_is_forfeited(void **state)
{
    uint64_t executed = 0;

    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    pibs_server_charge(&server, 1);
    pibs_server_block(&server);
    pibs_server_unblock(&server, 100, 100000);
    for (uint64_t now = 100000; now < 100100; now++) {
        if (pibs_server_available(&server, now) > 0) {
            executed++;
            pibs_server_charge(&server, 1);
        }
    }
    assert_true(executed == 10);
    expect(100099, 0, 100100);
}

static void test_overrun_is_paid(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    charge(13, 13, 0);
    expect(13, 0, 130);
    charge(UINT64_MAX, 13, 0);
    assert_true(pibs_server_next_event(&server, SCHEDULE_NOW_MAX) == SCHEDULE_TIME_MAX);
}

static void test_period_is_inherited_if_shorter_or_blocked(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    pibs_server_unblock(&server, 200, 1);
    assert_true(server.period == 100);
    expect(1, 10, 11);
    pibs_server_unblock(&server, 40, 2);
    assert_true(server.period == 40);
    expect(2, 4, 6);
    pibs_server_block(&server);
    pibs_server_unblock(&server, 200, 3);
    assert_true(server.period == 200);
    expect(3, 20, 23);
}

/* What was granted for a longer period is withdrawn. */
static void test_shorter_period_ends_a_used_budget(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    charge(6, 6, 4);
    pibs_server_unblock(&server, 50, 6);
    expect(6, 0, 60);
    expect(60, 5, 65);
}

/* The time for which a lower priority kept the server waiting gives no burst at a higher one. */
static void test_shorter_period_forfeits_the_wait(void **state)
{
    uint64_t executed = 0;

    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 1000, 0);
    pibs_server_charge(&server, 1);
    pibs_server_unblock(&server, 50, 1000);
    assert_true(server.eligible == 990);
    for (uint64_t now = 1000; now < 1050; now++) {
        if (pibs_server_available(&server, now) > 0) {
            executed++;
            pibs_server_charge(&server, 1);
        }
    }
    assert_true(executed <= 5 + 5);
}

/* Of the budget 10 at 0, one tick is used at the lower priority. That tick counts as paid for when
 * the priority rises at 1000, and the other 9 are there. */
static void test_raised_priority_forfeits_the_wait(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    pibs_server_raise(&server, 0);
    expect(0, 10, 10);
    charge(1, 1, 9);
    pibs_server_raise(&server, 1000);
    expect(1000, 9, 1009);
    charge(9, 1009, 0);
    expect(1009, 0, 990 + 100);
    pibs_server_raise(&server, 1010);
    expect(1010, 0, 990 + 100);
}

static void test_set_parameters(void **state)
{
    (void)state;
    start(1, 10, 0);
    pibs_server_unblock(&server, 100, 0);
    pibs_server_charge(&server, 4);
    assert_int_equal(pibs_server_set_parameters(&server, 2, 1), SCHEDULE_BUDGET_OUT_OF_RANGE);
    expect(4, 6, 10);
    assert_int_equal(pibs_server_set_parameters(&server, 1, 2), SCHEDULE_OK);
    expect(4, 0, 40);
    expect(40, 50, 90);
    pibs_server_block(&server);
    assert_int_equal(pibs_server_set_parameters(&server, 1, 4), SCHEDULE_OK);
    expect(41, 0, SCHEDULE_NEVER);
}

/*
 * Under any requests of VCPUs with periods up to T, at top priority: in each window of length W the
 * server executes at most B + U (W - B), the bound on which admission.h builds. With e(t) = ticks
 * executed before t, e(t) - U t therefore grows by no more than (1 - U) B from any time to a later.
 */
static void check_bandwidth(uint64_t random)
{
    const uint64_t period = random_between(&random, 2, 40);
    const uint64_t budget = random_between(&random, 1, period);
    const uint64_t longest = random_between(&random, 1, 120);
    const uint64_t burst = pibs_server_share(budget, period, longest);
    const uint64_t start_time = random_below(&random, 50);
    int64_t surplus = 0; /* period * e(t) - budget * t */
    int64_t least = 0;

    start(budget, period, start_time);
    for (uint64_t now = start_time; now < start_time + 3000; now++) {
        if (random_below(&random, 4) == 0) {
            pibs_server_unblock(&server, random_between(&random, 1, longest), now);
        }
        if (pibs_server_available(&server, now) > 0) {
            surplus += (int64_t)period;
            pibs_server_charge(&server, 1);
        }
        surplus -= (int64_t)budget;
        assert_true(surplus - least <= (int64_t)((period - budget) * burst));
        if (surplus < least) {
            least = surplus;
        }
        if (server.active && random_below(&random, 6) == 0) {
            pibs_server_block(&server);
        }
    }
}

static void test_bandwidth(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        check_bandwidth(seed * UINT64_C(0x9E3779B97F4A7C15));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_full_budget),
        cmocka_unit_test(test_partial_use_costs_its_share),
        cmocka_unit_test(test_rounds_against_the_server),
        cmocka_unit_test(test_idle_time_is_forfeited),
        cmocka_unit_test(test_overrun_is_paid),
        cmocka_unit_test(test_period_is_inherited_if_shorter_or_blocked),
        cmocka_unit_test(test_shorter_period_ends_a_used_budget),
        cmocka_unit_test(test_shorter_period_forfeits_the_wait),
        cmocka_unit_test(test_raised_priority_forfeits_the_wait),
        cmocka_unit_test(test_set_parameters),
        cmocka_unit_test(test_bandwidth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
