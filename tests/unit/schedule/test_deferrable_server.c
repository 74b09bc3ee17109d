/* SPDX-License-Identifier: BSD-2-Clause */
/* The deferrable server by examples, and against a model that counts one tick after the other. */
#include "schedule/deferrable_server.h"
#include "schedule_test.h"
#include <stdbool.h>

#define SERVERS 2000u
#define STEPS   300u

static struct deferrable_server server;

static void start(uint64_t budget, uint64_t period, uint64_t now)
{
    assert_int_equal(deferrable_server_init(&server, budget, period, now), SCHEDULE_OK);
}

static void expect(uint64_t now, uint64_t available, uint64_t next_event)
{
    assert_true(deferrable_server_available(&server, now) == available);
    assert_true(deferrable_server_next_event(&server, now) == next_event);
}

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(deferrable_server_init(&server, 1, 0, 0), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(deferrable_server_init(&server, 0, 5, 0), SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(deferrable_server_init(&server, 6, 5, 0), SCHEDULE_BUDGET_OUT_OF_RANGE);
}

static void test_releases_are_multiples_of_the_period(void **state)
{
    (void)state;
    start(3, 10, 47);
    expect(47, 3, 53); /* across the release at 50 */
    deferrable_server_charge(&server, 3, 51);
    expect(51, 2, 53);
    deferrable_server_charge(&server, 2, 53);
    expect(53, 0, 60);
    expect(60, 3, 63);
}

static void test_unused_budget_is_replaced(void **state)
{
    (void)state;
    start(4, 10, 0);
    deferrable_server_charge(&server, 1, 1);
    expect(5, 3, 8);
    expect(9, 3, 14); /* the rest, and the whole next budget */
    expect(10, 4, 14);
    expect(35, 4, 39);
}

static void test_overrun_is_taken_from_the_next_budgets(void **state)
{
    (void)state;
    start(4, 10, 0);
    deferrable_server_charge(&server, 6, 6);
    expect(6, 0, 12);
    expect(10, 0, 12);
    expect(12, 2, 14);
    deferrable_server_charge(&server, 8, 20); /* 6 beyond the budget of 10 */
    expect(20, 0, 32);
    expect(32, 2, 34);
}

static void test_execution_across_releases(void **state)
{
    (void)state;
    start(4, 10, 0);
    deferrable_server_charge(&server, 2, 11); /* the budget of 0 had room for one of them */
    expect(11, 3, 14);
    start(4, 10, 0);
    deferrable_server_charge(&server, 31, 40); /* 6 beyond each of three budgets */
    expect(40, 0, 82);
    start(10, 10, 0);
    deferrable_server_charge(&server, 95, 95);
    expect(95, 5, 110);
}

static void test_time_has_an_end(void **state)
{
    (void)state;
    start(1, SCHEDULE_PERIOD_MAX, 0);
    deferrable_server_charge(&server, SCHEDULE_NOW_MAX, SCHEDULE_NOW_MAX);
    assert_true(deferrable_server_eligible(&server) > SCHEDULE_NOW_MAX);
    assert_true(deferrable_server_eligible(&server) <= SCHEDULE_TIME_MAX);
}

/* A budget that is counted in single ticks. */
struct model {
    int64_t left; /* less than 0: ticks beyond the budget */
    uint64_t budget, period, now;
};

static void pass_tick(struct model *model, int executes)
{
    model->left -= executes;
    model->now++;
    if (model->now % model->period == 0) {
        model->left = (int64_t)model->budget + (model->left < 0 ? model->left : 0);
    }
}

/* Returns the budget that is left. Tick number k of it is not used before k ticks have passed since
 * the release. */
static uint64_t available(const struct model *model)
{
    int64_t passed = (int64_t)(model->now % model->period);

    return model->left > 0 && (int64_t)model->budget - model->left <= passed ? (uint64_t)model->left
                                                                             : 0;
}

/* Executes until the next event and longer, in parts that are charged together. */
static void run_model(uint64_t seed)
{
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    struct model model = {.period = random_between(&random, 1, 30)};

    model.budget = random_between(&random, 1, model.period);
    model.left = (int64_t)model.budget;
    start(model.budget, model.period, 0);
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t ticks = random_below(&random, random_below(&random, 8) == 0 ? 70 : 6);
        int executes = random_below(&random, 3) != 0;

        for (uint64_t i = 0; i < ticks; i++) {
            pass_tick(&model, executes);
        }
        deferrable_server_charge(&server, executes ? ticks : 0, model.now);
        assert_true(deferrable_server_available(&server, model.now) == available(&model));
    }
}

static void test_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SERVERS; seed++) {
        run_model(seed);
    }
}

/* Executes from each event to the next: the budget ends exactly then, and begins exactly then. */
static void test_events(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (unsigned i = 0; i < SERVERS; i++) {
        uint64_t period = random_between(&random, 2, 30), now = random_below(&random, 100);
        uint64_t budget = random_between(&random, 1, period - 1);

        start(budget, period, now);
        for (unsigned step = 0; step < 20; step++) {
            uint64_t next = deferrable_server_next_event(&server, now);
            bool executes = deferrable_server_available(&server, now) > 0;

            assert_true(next > now);
            deferrable_server_charge(&server, executes ? next - now : 0, next);
            assert_true((deferrable_server_available(&server, next) > 0) != executes ||
                        next % period == 0);
            now = next + random_below(&random, 3);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_releases_are_multiples_of_the_period),
        cmocka_unit_test(test_unused_budget_is_replaced),
        cmocka_unit_test(test_overrun_is_taken_from_the_next_budgets),
        cmocka_unit_test(test_execution_across_releases),
        cmocka_unit_test(test_time_has_an_end),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
