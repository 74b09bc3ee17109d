/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests VCPUs of one partition on two cores that are shared by weights: they have turns together,
 * and that costs nobody a share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/credit.h"

#define QUANTUM UINT64_C(1000)
#define SLOTS   600u
#define SETS    300u
#define VCPUS   6u
#define TURN    (QUANTUM + QUANTUM / 4) /* the longest one */

struct core {
    struct credit credit;
    unsigned count, own; /* VCPUs; the place of the partition's one */
    uint32_t weights[VCPUS];
    uint32_t total;
    uint64_t executed[VCPUS];
    uint64_t now;
};

static struct core cores[2];
static bool executes[2][SLOTS * QUANTUM]; /* the partition's VCPU, in each tick */
static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static void begin(struct core *core)
{
    core->count = 2 + random_below(VCPUS - 1);
    core->own = random_below(core->count);
    core->total = 0;
    core->now = random_below(3 * QUANTUM);
    credit_init(&core->credit, QUANTUM);
    for (unsigned place = 0; place < core->count; place++) {
        core->weights[place] = 64u << random_below(3);
        core->total += core->weights[place];
        core->executed[place] = 0;
        credit_add(&core->credit, place, core->weights[place]);
    }
}

static uint32_t interval_of(const struct core *core)
{
    return (core->total + core->weights[core->own] - 1) / core->weights[core->own];
}

/* Both VCPUs have the slots in which the one with the smaller share may have its turns. */
static void align(uint32_t phase)
{
    uint32_t one = interval_of(&cores[0]), other = interval_of(&cores[1]);
    uint32_t interval = one > other ? one : other;

    for (unsigned i = 0; i < 2; i++) {
        credit_align(&cores[i].credit, cores[i].own, interval, phase % interval);
    }
}

/* No account is ahead of the smallest one of a VCPU with work by more than two turns. */
static void check_accounts(const struct core *core)
{
    const struct credit *credit = &core->credit;
    uint64_t least = tournament_earliest(&credit->accounts);

    for (unsigned place = 0; place < core->count; place++) {
        uint64_t ahead = credit->vcpus[place].account - least;

        if ((credit->runnable >> place & 1) != 0) {
            assert_true(ahead <= 2 * TURN / core->weights[place] + 2);
        }
    }
}

/* VCPUs execute until the end. `rest`: percent of the choices after which the one that executed
 * sleeps, until the next choice. */
static void run(unsigned number, uint32_t rest)
{
    struct core *core = &cores[number];
    unsigned sleeper = CREDIT_NONE;

    for (unsigned place = 0; place < core->count; place++) {
        credit_unblock(&core->credit, place);
    }
    while (core->now < SLOTS * QUANTUM) {
        unsigned place = credit_choose(&core->credit, core->now);
        uint64_t next = credit_next_choice(&core->credit, place, core->now);
        uint64_t end = next < SLOTS * QUANTUM ? next : SLOTS * QUANTUM;

        if (random_below(100) < rest) {
            end = core->now + 1 + random_below((uint32_t)(end - core->now));
        }
        for (uint64_t tick = core->now; tick < end; tick++) {
            executes[number][tick] = place == core->own;
        }
        if (sleeper != CREDIT_NONE) {
            credit_unblock(&core->credit, sleeper);
            sleeper = CREDIT_NONE;
        }
        if (end < next && place != core->own) {
            credit_block(&core->credit, place);
            sleeper = place;
        }
        core->executed[place] += end - core->now;
        credit_charge(&core->credit, place, end - core->now, end);
        core->now = end;
        if (rest == 0) {
            check_accounts(core);
        }
    }
}

/* Returns the part of the rarer VCPU's time in which both execute, in percent. */
static uint64_t together(void)
{
    uint64_t both = 0, times[2] = {0, 0};

    for (uint64_t tick = 4 * QUANTUM; tick < SLOTS * QUANTUM; tick++) {
        both += executes[0][tick] && executes[1][tick] ? 1 : 0;
        times[0] += executes[0][tick] ? 1 : 0;
        times[1] += executes[1][tick] ? 1 : 0;
    }
    return 100 * both / (times[0] < times[1] ? times[0] : times[1]);
}

static uint64_t run_pair(uint32_t seed, bool is_aligned, uint32_t rest)
{
    random_state = seed;
    begin(&cores[0]);
    begin(&cores[1]);
    if (is_aligned) {
        align(seed);
    }
    run(0, rest);
    run(1, rest);
    return together();
}

/* All VCPUs always have work. The share of each is kept to a few quanta: what it is behind, the
 * others are ahead. */
static void test_shares_are_kept(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SETS; seed++) {
        (void)run_pair(seed, true, 0);
        for (unsigned i = 0; i < 2; i++) {
            const struct core *core = &cores[i];
            uint64_t elapsed = 0;

            for (unsigned place = 0; place < core->count; place++) {
                elapsed += core->executed[place];
            }
            for (unsigned place = 0; place < core->count; place++) {
                uint64_t share = elapsed * core->weights[place] / core->total;
                uint64_t behind = core->weights[place] * core->count * 2 * TURN / core->total;

                assert_in_range(core->executed[place], share - behind - 2, share + 3 * TURN);
            }
        }
    }
}

static void test_turns_are_together(void **state)
{
    uint64_t aligned = 0, free = 0, least = 100;

    (void)state;
    for (uint32_t seed = 1; seed <= SETS; seed++) {
        uint64_t part = run_pair(seed, true, 0);

        aligned += part;
        least = part < least ? part : least;
        free += run_pair(seed, false, 0);
    }
    print_message("together: %u %% of the time, at least %u %%; not aligned: %u %%\n",
                  (unsigned)(aligned / SETS), (unsigned)least, (unsigned)(free / SETS));
    assert_true(aligned / SETS >= 90);
    assert_true(aligned > free);
}

/* The others sleep now and then, and preempt by boosts when they wake. */
static void test_turns_beside_others_that_sleep(void **state)
{
    uint64_t aligned = 0, free = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= SETS; seed++) {
        aligned += run_pair(seed, true, 30);
        free += run_pair(seed, false, 30);
    }
    print_message("together beside others that sleep: %u %%; not aligned: %u %%\n",
                  (unsigned)(aligned / SETS), (unsigned)(free / SETS));
    assert_true(aligned > free);
}

/* A slot's VCPU does not get the turn while it is ahead by more than a turn. */
static void test_a_slot_is_no_share(void **state)
{
    struct core *core = &cores[0];

    (void)state;
    random_state = 1;
    begin(core);
    core->now = 0;
    credit_align(&core->credit, core->own, 1, 0); /* each slot is its own */
    run(0, 0);
    assert_in_range(core->executed[core->own],
                    SLOTS * QUANTUM * core->weights[core->own] / core->total,
                    SLOTS * QUANTUM * core->weights[core->own] / core->total + 2 * TURN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_kept),
        cmocka_unit_test(test_turns_are_together),
        cmocka_unit_test(test_turns_beside_others_that_sleep),
        cmocka_unit_test(test_a_slot_is_no_share),
    };

    return cmocka_run_group_tests_name("gangs", tests, NULL, NULL);
}
