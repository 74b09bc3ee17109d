/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the levels with runnable threads with a plain list of VCPUs. */
#include "sched/demand.h"

#include "kernel_fixture.h"

#define VCPUS 12u
#define STEPS 100000u

static struct {
    unsigned level;
    bool runnable;
    bool has_budget;
} vcpus[VCPUS];

static uint64_t levels_with_budget(void)
{
    uint64_t levels = 0;

    for (unsigned i = 0; i < VCPUS; i++) {
        if (vcpus[i].runnable && vcpus[i].has_budget) {
            levels |= UINT64_C(1) << vcpus[i].level;
        }
    }
    return levels;
}

/* Returns 1 + the highest level of the runnable VCPUs with, or without, budget; 0: there is none.
 */
static unsigned highest(bool has_budget)
{
    unsigned found = 0;

    for (unsigned i = 0; i < VCPUS; i++) {
        if (vcpus[i].runnable && vcpus[i].has_budget == has_budget && vcpus[i].level >= found) {
            found = vcpus[i].level + 1;
        }
    }
    return found;
}

static void test_against_list(void **state)
{
    struct demand demand = {.levels = 0};
    uint64_t seed = 1;
    unsigned exceeded = 0;

    (void)state;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)random_below(&seed, VCPUS);
        bool expected;

        if (vcpus[i].runnable) {
            demand_remove(&demand, vcpus[i].level);
        } else {
            /* Few levels, so that VCPUs share them, and the greatest one. */
            vcpus[i].level = 1 + 31 * (unsigned)random_below(&seed, 3);
            vcpus[i].has_budget = random_below(&seed, 4) != 0;
            demand_add(&demand, vcpus[i].level);
        }
        vcpus[i].runnable = !vcpus[i].runnable;
        expected = highest(false) > highest(true) || highest(true) == 0;
        assert_int_equal(demand_exceeds(&demand, levels_with_budget()), expected);
        exceeded += expected ? 1 : 0;
    }
    assert_in_range(exceeded, STEPS / 100, STEPS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
