/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thousands of sporadic servers under random workloads: preemption, blocking, charges in parts and
 * late, overruns, full queues. After each call the state is consistent. A server whose queue can't
 * fill agrees with the model to the tick; another is never ahead of it.
 *
 * Under preemption a correct server executes more than its budget in some window of one period
 * (ticks that were available earlier come late), so that the checks are about the times at which
 * the ticks used were available.
 */
#include "schedule/sporadic_server.h"
#include "schedule_test.h"
#include "tokens.h"
#include <string.h>

#define SERVERS    2000u
#define STEPS      120u
#define BUDGET_MAX 32u /* so that a queue of 32 slots never fills */

struct workload {
    uint64_t random;
    uint64_t now;
    struct sporadic_server server;
    struct tokens model;
    bool exact;
    uint64_t uncharged;
    uint64_t used_at[BUDGET_MAX]; /* when the latest ticks used were available, a ring */
    uint64_t used_count;
};

static bool decide(struct workload *load, uint64_t percent)
{
    return random_below(&load->random, 100) < percent;
}

/* Each tick of the budget is used once a period: of any budget + 1 ticks used in turn, the last was
 * available a period after the first, or later. */
static void check_used_tick(struct workload *load, uint64_t available_at)
{
    uint64_t budget = load->server.budget;
    uint64_t *place = &load->used_at[load->used_count % budget];

    assert_true(load->used_count < budget || available_at >= *place + load->server.period);
    *place = available_at;
    load->used_count++;
}

static void charge(struct workload *load, uint64_t used)
{
    struct tokens tokens;

    tokens_of_server(&tokens, &load->server);
    for (uint64_t i = 0; i < used; i++) {
        check_used_tick(load, tokens_execute(&tokens));
    }
    sporadic_server_charge(&load->server, used);
    check_server(&load->server);
    load->uncharged -= used;
}

static void charge_all(struct workload *load)
{
    while (load->uncharged > 0) {
        charge(load, random_between(&load->random, 1, load->uncharged));
    }
}

/* Compares server and model; a blocked server's ticks count from `now` on. */
static void check_against_model(struct workload *load, bool blocked)
{
    struct tokens tokens;
    struct tokens model = load->model;
    bool same;

    assert_true(load->uncharged == 0);
    tokens_of_server(&tokens, &load->server);
    if (blocked) {
        tokens_unblock(&tokens, load->now);
        tokens_unblock(&model, load->now);
    }
    same = memcmp(tokens.time, model.time, tokens.count * sizeof(tokens.time[0])) == 0;
    assert_int_equal(tokens.count, model.count);
    assert_true(same || !load->exact);
    assert_true(tokens.time[tokens.count - 1] < tokens.time[0] + tokens.period);
    for (unsigned i = 0; i < tokens.count; i++) {
        assert_true(i == 0 || tokens.time[i] > tokens.time[i - 1]);
        assert_true(tokens.time[i] >= model.time[i]);
    }
}

static void check_next_event(struct workload *load)
{
    struct tokens tokens;
    uint64_t event = sporadic_server_next_event(&load->server, load->now);
    unsigned available;

    tokens_of_server(&tokens, &load->server);
    available = tokens_available(&tokens, load->now);
    if (available > load->server.budget - load->server.usage) {
        available = (unsigned)(load->server.budget - load->server.usage); /* not the used ones */
    }
    assert_true((available > 0) == (sporadic_server_available(&load->server, load->now) > 0));
    assert_true(event == (available > 0 ? load->now + available : tokens.time[0]));
}

static void run(struct workload *load)
{
    uint64_t budget = sporadic_server_next_event(&load->server, load->now) - load->now;
    uint64_t ticks = random_between(&load->random, 1, budget);

    if (decide(load, 10)) {
        ticks = budget + random_between(&load->random, 1, decide(load, 10) ? 99 : 3);
    }
    for (uint64_t i = 0; i < ticks; i++) {
        (void)tokens_execute(&load->model);
    }
    load->now += ticks;
    load->uncharged += ticks;
    if (decide(load, 40)) {
        load->now += random_below(&load->random, 10); /* preempted, charged late */
    }
    charge_all(load);
}

static void sleep_and_wake(struct workload *load)
{
    if (decide(load, 20)) {
        load->now += random_below(&load->random, 3);
    }
    sporadic_server_block(&load->server, load->now);
    check_server(&load->server);
    check_against_model(load, true);
    load->now += random_below(&load->random, decide(load, 20) ? 300 : 20);
    sporadic_server_unblock(&load->server, load->now);
    check_server(&load->server);
    tokens_unblock(&load->model, load->now);
}

/* New parameters: no tick of the budget is available before the model's, as far as both go. */
static void change_parameters(struct workload *load)
{
    uint64_t period = random_between(&load->random, 1, 80);
    uint64_t most = period < BUDGET_MAX ? period : BUDGET_MAX;
    uint64_t budget = random_between(&load->random, 1, most);
    uint64_t earliest = load->model.time[0] > load->now ? load->model.time[0] : load->now;

    assert_int_equal(sporadic_server_set_parameters(&load->server, budget, period, load->now),
                     SCHEDULE_OK);
    check_server(&load->server);
    tokens_of_server(&load->model, &load->server);
    assert_true(load->model.time[0] >= earliest);
    load->used_count = 0;
}

static void step(struct workload *load)
{
    check_against_model(load, false);
    check_next_event(load);
    if (decide(load, 1)) {
        change_parameters(load);
    } else if (decide(load, 30)) {
        sleep_and_wake(load);
    } else if (sporadic_server_available(&load->server, load->now) > 0) {
        run(load);
    } else if (decide(load, 70)) {
        load->now = sporadic_server_next_event(&load->server, load->now);
    } else {
        load->now += random_below(&load->random, 30);
    }
}

static void run_workload(uint64_t seed, unsigned capacity, bool has_piece)
{
    struct workload load = {.random = seed * UINT64_C(0x9E3779B97F4A7C15)};
    uint64_t period = random_between(&load.random, 1, 80);
    uint64_t most = period < BUDGET_MAX ? period : BUDGET_MAX;
    uint64_t budget = random_between(&load.random, 1, most);

    load.now = decide(&load, 20) ? 0 : random_below(&load.random, 1000);
    load.exact = capacity == REPLENISHMENT_CAPACITY_MAX && !has_piece;
    assert_int_equal(sporadic_server_init(&load.server, budget, period, capacity, load.now),
                     SCHEDULE_OK);
    if (has_piece) {
        sporadic_server_set_piece(&load.server, random_between(&load.random, 1, budget));
    }
    tokens_init(&load.model, budget, period, load.now);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&load);
    }
}

static void test_servers_that_agree_with_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SERVERS; seed++) {
        run_workload(seed, REPLENISHMENT_CAPACITY_MAX, false);
    }
}

static void test_servers_with_full_queues(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SERVERS; seed++) {
        run_workload(seed, 2 + (unsigned)(seed % 31), false);
    }
}

static void test_servers_with_a_smallest_piece(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SERVERS; seed++) {
        run_workload(seed, 2 + (unsigned)(seed % 31), true);
    }
}

/* At top priority nothing comes late, so that no window of one period has more than the budget. */
static void run_at_top_priority(uint64_t seed, unsigned capacity)
{
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t period = random_between(&random, 2, 60);
    uint64_t budget = random_between(&random, 1, period);
    uint64_t executed = 0;
    bool ran[60] = {false};
    bool blocked = false;
    struct sporadic_server server;

    assert_int_equal(sporadic_server_init(&server, budget, period, capacity, 0), SCHEDULE_OK);
    for (uint64_t now = 0; now < 1500; now++) {
        bool *slot = &ran[now % period];

        if (blocked && random_below(&random, 4) == 0) {
            sporadic_server_unblock(&server, now);
            blocked = false;
        }
        executed -= *slot ? 1 : 0;
        *slot = !blocked && sporadic_server_available(&server, now) > 0;
        if (*slot) {
            executed++;
            sporadic_server_charge(&server, 1);
        }
        assert_true(executed <= budget);
        if (!blocked && random_below(&random, 5) == 0) {
            sporadic_server_block(&server, now + 1);
            blocked = true;
        }
        check_server(&server);
    }
}

static void test_windows_at_top_priority(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        run_at_top_priority(seed, 2 + (unsigned)(seed % 31));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers_that_agree_with_the_model),
        cmocka_unit_test(test_servers_with_full_queues),
        cmocka_unit_test(test_servers_with_a_smallest_piece),
        cmocka_unit_test(test_windows_at_top_priority),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
