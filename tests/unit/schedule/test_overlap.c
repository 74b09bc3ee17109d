/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two VCPUs of a partition on two cores, executed: random sets share each core with one of them. In
 * no interval in which both have work do they miss each other for longer than the bound.
 */
#include "core.h"
#include "schedule/overlap.h"
#include "schedule_test.h"

#define PAIRS   3000u
#define TICKS   1500u
#define STRETCH 300u

struct side {
    struct core core;
    struct admission_vcpu set[CORE_VCPUS_MAX];
    struct admission_response responses[CORE_VCPUS_MAX];
    unsigned count;
    unsigned own; /* the partition's VCPU */
};

struct pair {
    uint64_t random;
    struct side sides[2];
    bool is_aligned;
    uint64_t budget, period;
    uint64_t piece;
    uint64_t bound;
    unsigned busy, rest; /* percent of the ticks */
    uint64_t longest;    /* time apart that was seen */
};

static bool decide(struct pair *pair, unsigned percent)
{
    return random_below(&pair->random, 100) < percent;
}

static bool choose_side(struct pair *pair, struct side *side)
{
    struct admission_result result;

    side->count = (unsigned)random_between(&pair->random, 1, 4);
    side->own = (unsigned)random_below(&pair->random, side->count);
    for (unsigned i = 0; i < side->count; i++) {
        struct admission_vcpu *vcpu = &side->set[i];

        vcpu->kind = ADMISSION_MAIN;
        vcpu->period = i == side->own ? pair->period : random_between(&pair->random, 4, 60);
        vcpu->budget = i == side->own
                           ? pair->budget
                           : random_between(&pair->random, 1, 1 + vcpu->period / (2 * side->count));
        if (i == side->own ? pair->is_aligned : decide(pair, 25)) {
            vcpu->jitter = vcpu->period - vcpu->budget;
        }
    }
    return admission_test(side->set, side->count, side->responses, &result) == SCHEDULE_OK;
}

static void add_side(struct pair *pair, struct side *side)
{
    for (unsigned i = 0; i < side->count; i++) {
        const struct admission_vcpu *vcpu = &side->set[i];
        bool is_own = i == side->own;

        if (is_own ? pair->is_aligned : vcpu->jitter != 0) {
            (void)core_add_deferrable(&side->core, vcpu->budget, vcpu->period);
        } else {
            struct core_vcpu *added =
                core_add_main(&side->core, vcpu->budget, vcpu->period, REPLENISHMENT_CAPACITY_MAX);

            sporadic_server_set_piece(&added->sporadic, is_own ? pair->piece : 1);
        }
    }
}

static bool choose_pair(struct pair *pair)
{
    struct overlap_vcpu vcpus[2] = {{0, 0}, {0, 0}};

    pair->is_aligned = decide(pair, 70);
    pair->period = random_between(&pair->random, 4, 60);
    pair->budget = random_between(&pair->random, 1, pair->period - 1);
    pair->piece = random_between(&pair->random, 1, pair->budget);
    if (!choose_side(pair, &pair->sides[0]) || !choose_side(pair, &pair->sides[1])) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct side *side = &pair->sides[i];

        vcpus[i].lag = side->responses[side->own].ticks - pair->budget;
    }
    pair->bound =
        pair->is_aligned
            ? overlap_of_aligned(pair->budget, pair->period, &vcpus[0], &vcpus[1])
            : overlap_of_any(pair->budget, pair->period, pair->piece - 1, &vcpus[0], &vcpus[1]);
    return true;
}

/* Passes one tick of a core. `is_stretch`: its own VCPU does not block. Returns true if it
 * executes. */
static bool run_tick(struct pair *pair, struct side *side, bool is_stretch)
{
    struct core_vcpu *own = &side->core.vcpu[side->own];
    struct core_vcpu *vcpu;

    for (unsigned i = 0; i < side->count; i++) {
        if (!side->core.vcpu[i].runnable &&
            (decide(pair, pair->busy) || (is_stretch && i == side->own))) {
            core_wake(&side->core, &side->core.vcpu[i], 0);
        }
    }
    vcpu = core_pick(&side->core);
    core_execute(&side->core, vcpu);
    if (vcpu != NULL && !(is_stretch && vcpu == own) && decide(pair, pair->rest)) {
        core_block(&side->core, vcpu);
    }
    return vcpu == own;
}

/* Both VCPUs have work for a while. */
static void run_stretch(struct pair *pair)
{
    uint64_t apart = 0;

    for (uint64_t i = random_between(&pair->random, 1, STRETCH); i > 0; i--) {
        bool one = run_tick(pair, &pair->sides[0], true);
        bool other = run_tick(pair, &pair->sides[1], true);

        apart = one && other ? 0 : apart + 1;
        pair->longest = apart > pair->longest ? apart : pair->longest;
        assert_true(apart <= pair->bound);
    }
}

/* Returns true if the pair was admitted, and has a bound. */
static bool run_pair(struct pair *pair)
{
    static const unsigned percents[] = {0, 2, 10, 30, 70, 100};

    if (!choose_pair(pair)) {
        return false;
    }
    pair->busy = percents[random_between(&pair->random, 1, 5)];
    pair->rest = percents[random_below(&pair->random, 5)];
    add_side(pair, &pair->sides[0]);
    add_side(pair, &pair->sides[1]);
    for (unsigned ticks = 0; ticks < TICKS; ticks += STRETCH) {
        for (uint64_t i = random_below(&pair->random, 60); i > 0; i--) {
            (void)run_tick(pair, &pair->sides[0], false);
            (void)run_tick(pair, &pair->sides[1], false);
        }
        run_stretch(pair);
    }
    return pair->bound != SCHEDULE_NEVER;
}

static void test_no_time_apart_exceeds_the_bound(void **state)
{
    unsigned bounded[2] = {0, 0}, reached[2] = {0, 0};

    (void)state;
    for (uint64_t seed = 1; seed <= PAIRS; seed++) {
        struct pair pair = {.random = seed * UINT64_C(0x9E3779B97F4A7C15)};

        if (run_pair(&pair)) {
            bounded[pair.is_aligned]++;
            reached[pair.is_aligned] += pair.longest == pair.bound ? 1 : 0;
        }
    }
    print_message("of %u aligned pairs %u reach the bound, of %u others %u\n", bounded[1],
                  reached[1], bounded[0], reached[0]);
    assert_true(bounded[1] >= PAIRS / 10 && bounded[0] >= PAIRS / 40);
    assert_true(reached[1] > 0);
}

static void test_figures(void **state)
{
    const struct overlap_vcpu alone = {0, 0}, behind = {2, 0}, late = {5, 0}, paid = {2, 3};

    (void)state;
    assert_true(overlap_of_aligned(5, 10, &alone, &alone) == 5);
    assert_true(overlap_of_aligned(5, 10, &alone, &behind) == 9);
    assert_true(overlap_of_aligned(5, 10, &behind, &behind) == 11);
    assert_true(overlap_of_aligned(5, 10, &behind, &late) == SCHEDULE_NEVER);
    assert_true(overlap_of_aligned(5, 10, &paid, &alone) == SCHEDULE_NEVER);
    assert_true(overlap_of_aligned(9, 10, &(struct overlap_vcpu){3, 0},
                                   &(struct overlap_vcpu){3, 0}) == 8); /* as any */
    assert_true(overlap_of_any(5, 10, 0, &alone, &alone) == SCHEDULE_NEVER);
    assert_true(overlap_of_any(6, 10, 0, &alone, &alone) == 8);
    assert_true(overlap_of_any(6, 10, 0, &alone, &behind) == 2 * (16 - 6));
    assert_true(overlap_of_any(6, 10, 1, &alone, &alone) == 8);
    assert_true(overlap_of_any(6, 10, 2, &alone, &alone) == 2 * (12 - 4));
    assert_true(overlap_of_any(9, 10, 0, &paid, &alone) == 2 * (2 + 10 - 6 + 10 - 6));
    assert_true(overlap_of_any(10, 10, 0, &alone, &alone) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_no_time_apart_exceeds_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
