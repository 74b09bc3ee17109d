/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What admission promises, executed: random sets that it admits run on a core under random
 * requests, and no VCPU ever gets a tick of its budget later than the analysis says.
 */
#include "core.h"
#include "schedule_test.h"

#define SETS  1500u
#define TICKS 1500u

struct world {
    uint64_t random;
    struct core core;
    struct admission_vcpu set[CORE_VCPUS_MAX];
    struct admission_response responses[CORE_VCPUS_MAX];
    unsigned busy; /* percent of the ticks at which a blocked VCPU wakes */
    unsigned rest; /* percent of the ticks after which it blocks */
};

/* Returns true if the set is admitted. */
static bool choose_set(struct world *world)
{
    unsigned mains = (unsigned)random_between(&world->random, 1, 5);
    unsigned ios = (unsigned)random_below(&world->random, 3);
    struct admission_result result;

    for (unsigned i = 0; i < mains + ios; i++) {
        struct admission_vcpu *vcpu = &world->set[i];

        vcpu->kind = i < mains ? ADMISSION_MAIN : ADMISSION_IO;
        vcpu->period = random_between(&world->random, 2, 60);
        vcpu->budget =
            random_between(&world->random, 1, 1 + vcpu->period / (i < mains ? mains : 5));
        vcpu->jitter = i < mains && random_below(&world->random, 3) == 0
                           ? vcpu->period - vcpu->budget
                           : 0; /* of a deferrable server */
    }
    return admission_test(world->set, mains + ios, world->responses, &result) == SCHEDULE_OK;
}

static void add_set(struct world *world, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct admission_vcpu *vcpu = &world->set[i];

        if (vcpu->jitter != 0) {
            (void)core_add_deferrable(&world->core, vcpu->budget, vcpu->period);
        } else if (vcpu->kind == ADMISSION_MAIN) {
            unsigned capacity = (unsigned)random_between(&world->random, 2, 32);

            (void)core_add_main(&world->core, vcpu->budget, vcpu->period, capacity);
        } else {
            (void)core_add_io(&world->core, vcpu->budget, vcpu->period);
        }
    }
}

static bool decide(struct world *world, unsigned percent)
{
    return random_below(&world->random, 100) < percent;
}

/* Wakes VCPUs; an I/O VCPU serves any Main VCPU, whether it is active already or not. */
static void wake_some(struct world *world)
{
    struct core *core = &world->core;

    for (unsigned i = 0; i < core->count; i++) {
        struct core_vcpu *vcpu = &core->vcpu[i];

        if (vcpu->kind == ADMISSION_IO && decide(world, world->busy)) {
            const struct admission_vcpu *served =
                &world->set[random_below(&world->random, core->count)];

            if (served->kind == ADMISSION_MAIN) {
                core_wake(core, vcpu, served->period);
            }
        } else if (!vcpu->runnable && decide(world, world->busy)) {
            core_wake(core, vcpu, 0);
        }
    }
}

static void run_tick(struct world *world)
{
    struct core *core = &world->core;

    wake_some(world);
    struct core_vcpu *vcpu = core_pick(core);

    if (vcpu != NULL && vcpu->kind == ADMISSION_MAIN) {
        uint64_t response = core->now + 1 - core_available_since(vcpu, core->now);

        assert_true(response <= world->responses[vcpu - core->vcpu].ticks);
    }
    core_execute(core, vcpu);
    if (vcpu != NULL && decide(world, world->rest)) {
        core_block(core, vcpu);
    }
}

static void run_set(uint64_t seed, unsigned *admitted)
{
    struct world world = {.random = seed * UINT64_C(0x9E3779B97F4A7C15)};
    static const unsigned percents[] = {0, 2, 10, 30, 100};
    unsigned count = 0;

    if (!choose_set(&world)) {
        return;
    }
    while (count < CORE_VCPUS_MAX && world.set[count].period != 0) {
        count++;
    }
    world.busy = percents[random_between(&world.random, 1, 4)];
    world.rest = percents[random_below(&world.random, 4)];
    add_set(&world, count);
    for (unsigned i = 0; i < TICKS; i++) {
        run_tick(&world);
    }
    (*admitted)++;
}

static void test_admitted_sets_keep_their_responses(void **state)
{
    unsigned admitted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        run_set(seed, &admitted);
    }
    assert_true(admitted >= SETS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admitted_sets_keep_their_responses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
