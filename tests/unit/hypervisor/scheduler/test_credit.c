/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the scheduler by weights: VCPUs that always have work, that sleep and wake at random, and
 * that try to get more than their shares; random calls are compared with a model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/credit.h"

#define QUANTUM UINT64_C(1000)
#define STEPS   200000u
#define SEEDS   20u

static struct credit credit;
static uint64_t executed[CREDIT_PLACES];
static uint64_t now;
static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static void begin(unsigned count, const uint32_t *weights)
{
    credit_init(&credit, QUANTUM);
    now = 0;
    for (unsigned place = 0; place < count; place++) {
        credit_add(&credit, place, weights[place]);
        executed[place] = 0;
    }
}

/* Lets the VCPU execute that is chosen, for `limit` ticks at most, and until the next choice.
 * Returns it. */
static unsigned execute(uint64_t limit)
{
    unsigned place = credit_choose(&credit, now);
    uint64_t next = credit_next_choice(&credit, place, now);

    assert_true(next > now);
    next = next - now > limit ? now + limit : next;
    if (place != CREDIT_NONE) {
        executed[place] += next - now;
        credit_charge(&credit, place, next - now, next);
    }
    now = next;
    return place;
}

static void expect_share(unsigned place, uint64_t weight, uint64_t total, uint64_t slack)
{
    assert_in_range(executed[place] + slack, now * weight / total,
                    now * weight / total + 2 * slack);
}

static void test_nobody_has_work(void **state)
{
    const uint32_t weights[] = {1, 1};

    (void)state;
    begin(2, weights);
    assert_int_equal(credit_choose(&credit, 0), CREDIT_NONE);
    assert_int_equal(credit_next_choice(&credit, CREDIT_NONE, 0), UINT64_MAX);
    credit_unblock(&credit, 1);
    assert_int_equal(credit_choose(&credit, 0), 1);
    assert_int_equal(credit_next_choice(&credit, 1, 0), UINT64_MAX); /* it is alone: no tick */
    credit_block(&credit, 1);
    assert_int_equal(credit_choose(&credit, 0), CREDIT_NONE);
}

static void test_shares_follow_weights(void **state)
{
    const uint32_t weights[] = {1, 2, 4, 256, 65535};
    uint64_t total = 65798;

    (void)state;
    begin(5, weights);
    for (unsigned place = 0; place < 5; place++) {
        credit_unblock(&credit, place);
    }
    while (now < UINT64_C(20000) * QUANTUM) {
        (void)execute(UINT64_MAX);
    }
    for (unsigned place = 0; place < 5; place++) {
        expect_share(place, weights[place], total, 5 * QUANTUM);
    }
}

static void test_32_vcpus(void **state)
{
    uint32_t weights[CREDIT_PLACES];
    uint64_t total = 0;

    (void)state;
    for (unsigned place = 0; place < CREDIT_PLACES; place++) {
        weights[place] = 1 + place * 7;
        total += weights[place];
    }
    begin(CREDIT_PLACES, weights);
    for (unsigned place = 0; place < CREDIT_PLACES; place++) {
        credit_unblock(&credit, place);
    }
    while (now < UINT64_C(100000) * QUANTUM) {
        (void)execute(UINT64_MAX);
    }
    for (unsigned place = 0; place < CREDIT_PLACES; place++) {
        expect_share(place, weights[place], total, 2 * QUANTUM);
    }
}

/* The time of a VCPU that sleeps goes to the others. It cannot save time up. */
static void test_idle_time_is_given_away(void **state)
{
    const uint32_t weights[] = {1, 1};
    uint64_t before;

    (void)state;
    begin(2, weights);
    credit_unblock(&credit, 0);
    while (now < UINT64_C(5000) * QUANTUM) {
        (void)execute(QUANTUM);
    }
    assert_int_equal(executed[0], now);
    credit_unblock(&credit, 1);
    before = now;
    while (now < before + UINT64_C(1000) * QUANTUM) {
        (void)execute(QUANTUM);
    }
    assert_in_range(executed[1], UINT64_C(499) * QUANTUM, UINT64_C(502) * QUANTUM);
}

/* A VCPU that executed alone for long is not charged for it, except for the account: it may preempt
 * again when its share has grown by a quantum. */
static void test_time_alone_does_not_defer_boosts(void **state)
{
    const uint32_t weights[] = {1, 1};

    (void)state;
    begin(2, weights);
    credit_unblock(&credit, 0);
    (void)execute(UINT64_C(1) << 50);
    credit_block(&credit, 0);
    credit_unblock(&credit, 1);
    (void)execute(2 * QUANTUM);
    credit_unblock(&credit, 0);
    assert_int_equal(credit_choose(&credit, now), 0);
    assert_int_equal(credit_next_choice(&credit, 0, now), now + QUANTUM);
}

/* Sleeps whenever it has executed for `work` ticks, and wakes after `pause` ticks, for ever, beside
 * three VCPUs that always have work. */
static void play(uint64_t work, uint64_t pause, uint64_t duration)
{
    uint64_t wakes_at = 0, left = work;

    for (unsigned place = 0; place < 3; place++) {
        credit_unblock(&credit, place);
    }
    while (now < duration) {
        bool is_awake = (credit.runnable >> 3 & 1) != 0;
        uint64_t before = executed[3];

        if (!is_awake && wakes_at <= now) {
            credit_unblock(&credit, 3);
            left = work;
            is_awake = true;
        }
        (void)execute(is_awake ? left : wakes_at - now);
        left -= executed[3] - before;
        if (is_awake && left == 0) {
            credit_block(&credit, 3);
            wakes_at = now + pause;
        }
    }
}

/* Neither boosts nor sleep get a VCPU more than its share: a quarter. */
static void test_theft(void **state)
{
    static const struct {
        uint64_t work, pause;
    } games[] = {{1, 1},    {1, 2},       {10, 1},      {300, 700},  {999, 1},
                 {1000, 1}, {1001, 1},    {2999, 1},    {250, 750},  {3, 7},
                 {500, 10}, {999, 20000}, {1000, 2999}, {1000, 3000}};

    (void)state;
    for (unsigned i = 0; i < sizeof(games) / sizeof(games[0]); i++) {
        const uint32_t weights[] = {256, 256, 256, 256};

        begin(4, weights);
        play(games[i].work, games[i].pause, UINT64_C(2000) * QUANTUM);
        assert_true(executed[3] <= now / 4 + 2 * QUANTUM);
        for (unsigned place = 0; place < 3; place++) {
            assert_true(executed[place] + 3 * QUANTUM >= now / 4);
        }
    }
}

/* A VCPU that uses no more than its share preempts the others whenever it wakes. */
static void test_boost_within_the_share(void **state)
{
    const uint32_t weights[] = {1, 1, 1, 1};

    (void)state;
    begin(4, weights);
    for (unsigned place = 0; place < 3; place++) {
        credit_unblock(&credit, place);
    }
    for (unsigned i = 0; i < 1000; i++) {
        (void)execute(i == 0 ? 3 * QUANTUM : 750); /* at first the others are boosted as well */
        while (now % 1000 != 0 || credit.boosted != 0) {
            (void)execute(1000 - now % 1000);
        }
        credit_unblock(&credit, 3);
        assert_int_equal(execute(240), 3);
        credit_block(&credit, 3);
    }
}

/* A boost ends after a quantum, and the VCPU that was preempted gets the rest of its turn. */
static void test_boost_ends(void **state)
{
    const uint32_t weights[] = {1, 1, 1};

    (void)state;
    begin(3, weights);
    credit_unblock(&credit, 1);
    credit_unblock(&credit, 2);
    now = 10 * QUANTUM;
    assert_int_equal(execute(UINT64_MAX), 1); /* both are boosted at first */
    assert_int_equal(execute(UINT64_MAX), 2);
    assert_int_equal(execute(300), 1);
    credit_unblock(&credit, 0);
    assert_int_equal(credit_next_choice(&credit, credit_choose(&credit, now), now), now + QUANTUM);
    assert_int_equal(execute(UINT64_MAX), 0);
    assert_int_equal(now, 13 * QUANTUM + 300);
    assert_int_equal(execute(UINT64_MAX), 1);
    assert_int_equal(now, 14 * QUANTUM);
}

/* A VCPU that has woken pays for its interrupt before the next choice. Its boost is decided as of
 * the interrupt, and the turn of another is no shorter. */
static void test_an_interrupt_is_charged(void **state)
{
    const uint32_t weights[] = {1, 1};

    (void)state;
    begin(2, weights);
    credit_unblock(&credit, 1);
    (void)execute(2 * QUANTUM);
    (void)execute(300);
    credit_unblock(&credit, 0);
    now += 3;
    credit_charge(&credit, 0, 3, now);
    assert_int_equal(credit_choose(&credit, now), 0);
    assert_int_equal(credit_next_choice(&credit, 0, now), now + QUANTUM - 3);
    credit_block(&credit, 0);
    assert_int_equal(credit_choose(&credit, now), 1);
    credit_unblock(&credit, 0); /* no boost */
    assert_int_equal(credit_choose(&credit, now), 1);
    assert_int_equal(credit_next_choice(&credit, 1, now), now + QUANTUM - 300);
}

/* A VCPU is charged after it has blocked. Another one that slept gets no more for that. */
static void test_charge_after_block(void **state)
{
    const uint32_t weights[] = {1, 1};

    (void)state;
    begin(2, weights);
    for (unsigned i = 0; i < 1000; i++) {
        credit_unblock(&credit, 0);
        assert_int_equal(credit_choose(&credit, now), 0);
        credit_block(&credit, 0);
        now += QUANTUM;
        credit_charge(&credit, 0, QUANTUM, now);
    }
    credit_unblock(&credit, 0);
    credit_unblock(&credit, 1);
    for (unsigned i = 0; i < 100; i++) {
        (void)execute(QUANTUM);
    }
    assert_in_range(executed[1], 48 * QUANTUM, 52 * QUANTUM);
}

/* Each tick is counted once, although many executions are shorter than the weight. */
static void test_short_executions_are_charged(void **state)
{
    const uint32_t weights[] = {65535, 65535};

    (void)state;
    begin(2, weights);
    for (unsigned i = 0; i < 65535; i++) {
        credit_unblock(&credit, 0);
        (void)credit_choose(&credit, now);
        now++;
        credit_charge(&credit, 0, 1, now);
        credit_block(&credit, 0);
    }
    assert_int_equal(credit.vcpus[0].account, 1);
    assert_int_equal(credit.vcpus[0].remainder, 0);
}

/* The rules of the choice, and what no call may break. */
static void check_choice(const uint64_t *accounts, unsigned count)
{
    unsigned place = credit_choose(&credit, now);

    if (credit.runnable == 0) {
        assert_int_equal(place, CREDIT_NONE);
        return;
    }
    assert_true((credit.runnable >> place & 1) != 0);
    assert_int_equal(credit.boosted & ~credit.runnable, 0);
    assert_true(credit.boosted == 0 || (credit.boosted >> place & 1) != 0);
    for (unsigned i = 0; i < count; i++) {
        assert_true(credit.vcpus[i].account >= accounts[i]); /* it never decreases */
        if (credit.boosted == 0 && credit.turn_left == QUANTUM && (credit.runnable >> i & 1) != 0) {
            assert_true(credit.vcpus[i].account >= credit.vcpus[place].account);
        }
    }
}

static void test_random(void **state)
{
    const uint32_t weights[] = {3, 100, 256, 1000, 65535, 1};
    const unsigned count = 6;

    (void)state;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        begin(count, weights);
        random_state = seed;
        for (unsigned i = 0; i < STEPS / SEEDS; i++) {
            unsigned place = random_below(count);
            uint64_t accounts[6], before = now, sum = 0;

            for (unsigned each = 0; each < count; each++) {
                accounts[each] = credit.vcpus[each].account;
                sum += executed[each];
            }
            if (random_below(2) != 0) {
                credit_unblock(&credit, place);
            } else {
                credit_block(&credit, place);
            }
            check_choice(accounts, count);
            if (execute(1 + random_below(3 * QUANTUM)) != CREDIT_NONE) { /* work-conserving */
                sum += now - before;
            }
            for (unsigned each = 0; each < count; each++) {
                sum -= executed[each];
            }
            assert_int_equal(sum, 0);
        }
    }
}

/* The largest weights and the latest times are no special cases. */
static void test_limits(void **state)
{
    uint32_t weights[CREDIT_PLACES];

    (void)state;
    for (unsigned place = 0; place < CREDIT_PLACES; place++) {
        weights[place] = 65535;
    }
    weights[31] = 1;
    begin(CREDIT_PLACES, weights);
    credit_init(&credit, UINT32_MAX);
    for (unsigned place = 0; place < CREDIT_PLACES; place++) {
        credit_add(&credit, place, weights[place]);
    }
    now = UINT64_C(1) << 62;
    credit_unblock(&credit, 31);
    (void)execute(UINT32_MAX);
    (void)execute(UINT32_MAX);
    assert_true(credit.vcpus[31].boost_due > now);
    assert_int_equal(credit.vcpus[31].boost_due - now, UINT64_C(0xffffffff) * credit.total);
    credit_unblock(&credit, 0);
    assert_int_equal(credit_choose(&credit, now), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_has_work),
        cmocka_unit_test(test_shares_follow_weights),
        cmocka_unit_test(test_32_vcpus),
        cmocka_unit_test(test_idle_time_is_given_away),
        cmocka_unit_test(test_time_alone_does_not_defer_boosts),
        cmocka_unit_test(test_theft),
        cmocka_unit_test(test_boost_within_the_share),
        cmocka_unit_test(test_boost_ends),
        cmocka_unit_test(test_an_interrupt_is_charged),
        cmocka_unit_test(test_charge_after_block),
        cmocka_unit_test(test_short_executions_are_charged),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests_name("credit", tests, NULL, NULL);
}
