/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The supply of a budget, executed: servers share a core under random requests, and a guest that
 * has work throughout never executes less than supply_within() says, whatever it and the others did
 * before. VCPUs inside the guest then keep their responses.
 */
#include "core.h"
#include "schedule/supply.h"
#include "schedule_test.h"

#define SETS    600u
#define TICKS   1200u
#define STRETCH 160u /* most ticks of a stretch in which the guest has work throughout */

/* The VCPU `guest` of the core, and what it has executed. */
struct world {
    uint64_t random;
    struct core core;
    struct admission_vcpu set[CORE_VCPUS_MAX];
    struct admission_response responses[CORE_VCPUS_MAX];
    unsigned count;
    unsigned guest;
    struct supply supply;
    unsigned busy;                  /* percent of the ticks at which a blocked VCPU wakes */
    unsigned rest;                  /* percent of the ticks after which it blocks */
    uint64_t executed[STRETCH + 1]; /* ticks since the stretch began */
};

static bool decide(struct world *world, unsigned percent)
{
    return random_below(&world->random, 100) < percent;
}

/* Chooses a set of Main VCPUs and its guest. Returns true if the set is admitted. */
static bool choose_set(struct world *world)
{
    struct admission_result result;

    world->count = (unsigned)random_between(&world->random, 1, 4);
    for (unsigned i = 0; i < world->count; i++) {
        struct admission_vcpu *vcpu = &world->set[i];

        vcpu->kind = ADMISSION_MAIN;
        vcpu->period = random_between(&world->random, 2, 40);
        vcpu->budget = random_between(&world->random, 1, 1 + vcpu->period / world->count);
        if (vcpu->budget < vcpu->period && decide(world, 25)) {
            vcpu->jitter = vcpu->period - vcpu->budget; /* of a deferrable server */
        }
    }
    world->guest = (unsigned)random_below(&world->random, world->count);
    if (decide(world, 20)) { /* an I/O VCPU that serves VCPUs of its period */
        struct admission_vcpu *vcpu = &world->set[world->count];

        *vcpu = world->set[world->guest];
        vcpu->kind = ADMISSION_IO_OF_PERIOD;
        vcpu->jitter = 0;
        vcpu->budget = random_between(&world->random, 1, 1 + vcpu->period / 4);
        if (decide(world, 50)) {
            world->guest = world->count;
        }
        world->count++;
    }
    return admission_test(world->set, world->count, world->responses, &result) == SCHEDULE_OK;
}

static void add_set(struct world *world)
{
    const struct admission_vcpu *guest = &world->set[world->guest];
    uint64_t pieces = random_between(&world->random, 1, 16);
    uint64_t piece = (guest->budget + pieces - 1) / pieces;
    bool is_whole = guest->kind != ADMISSION_MAIN || guest->jitter != 0; /* one piece */

    for (unsigned i = 0; i < world->count; i++) {
        const struct admission_vcpu *vcpu = &world->set[i];

        if (vcpu->jitter != 0) {
            (void)core_add_deferrable(&world->core, vcpu->budget, vcpu->period);
        } else if (vcpu->kind == ADMISSION_MAIN) {
            struct core_vcpu *added =
                core_add_main(&world->core, vcpu->budget, vcpu->period, (unsigned)pieces + 2);

            sporadic_server_set_piece(&added->sporadic, i == world->guest ? piece : 1);
        } else {
            (void)core_add_io(&world->core, vcpu->budget, vcpu->period);
        }
    }
    world->supply = (struct supply){
        .budget = guest->budget,
        .period = guest->period,
        .delay = world->responses[world->guest].ticks - guest->budget,
        .waiting = is_whole ? 0 : piece - 1,
        .piece = is_whole ? guest->budget : piece,
    };
    assert_true(supply_is_valid(&world->supply));
}

static struct core_vcpu *guest_of(struct world *world)
{
    return &world->core.vcpu[world->guest];
}

static void wake(struct world *world, unsigned vcpu)
{
    core_wake(&world->core, &world->core.vcpu[vcpu], world->set[vcpu].period);
}

/* Passes one tick. `is_stretch`: the guest does not block. Returns true if the guest executes. */
static bool run_tick(struct world *world, bool is_stretch)
{
    struct core *core = &world->core;
    struct core_vcpu *vcpu;

    for (unsigned i = 0; i < core->count; i++) {
        if (!core->vcpu[i].runnable && decide(world, world->busy)) {
            wake(world, i);
        }
    }
    vcpu = core_pick(core);
    core_execute(core, vcpu);
    if (vcpu != NULL && !(is_stretch && vcpu == guest_of(world)) && decide(world, world->rest)) {
        core_block(core, vcpu);
    }
    return vcpu == guest_of(world);
}

/* The guest gets work and keeps it. Compares each interval of the stretch with the supply. */
static void run_stretch(struct world *world)
{
    uint64_t length = random_between(&world->random, 1, STRETCH);

    if (!guest_of(world)->runnable) {
        wake(world, world->guest);
    }
    for (unsigned i = 0; i < length; i++) {
        world->executed[i + 1] = world->executed[i] + (run_tick(world, true) ? 1 : 0);
    }
    for (unsigned end = 1; end <= length; end++) {
        for (unsigned begin = 0; begin < end; begin++) {
            assert_true(world->executed[end] - world->executed[begin] >=
                        supply_within(&world->supply, end - begin));
        }
    }
}

static bool run_set(uint64_t seed)
{
    static const unsigned percents[] = {0, 2, 10, 30, 70, 100};
    struct world world = {.random = seed * UINT64_C(0x9E3779B97F4A7C15)};

    if (!choose_set(&world)) {
        return false;
    }
    world.busy = percents[random_between(&world.random, 1, 5)];
    world.rest = percents[random_below(&world.random, 5)];
    add_set(&world);
    while (world.core.now < TICKS) {
        for (uint64_t i = random_below(&world.random, 60); i > 0; i--) {
            (void)run_tick(&world, false);
        }
        run_stretch(&world);
    }
    return true;
}

static void test_guests_receive_the_supply(void **state)
{
    unsigned admitted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        admitted += run_set(seed) ? 1 : 0;
    }
    assert_true(admitted >= SETS / 3);
}

/* A guest on the outer core, whose kernel schedules VCPUs. Its time runs also while others execute.
 */
struct inside {
    struct core core;
    struct admission_vcpu set[CORE_VCPUS_MAX];
    struct admission_response responses[CORE_VCPUS_MAX];
    unsigned count;
};

/* Chooses VCPUs for the guest. Returns true if they are admitted. */
static bool choose_inside(struct world *world, struct inside *inside)
{
    struct admission_result result;

    inside->count = (unsigned)random_between(&world->random, 1, 4);
    for (unsigned i = 0; i < inside->count; i++) {
        struct admission_vcpu *vcpu = &inside->set[i];

        vcpu->kind = i > 0 && decide(world, 20) ? ADMISSION_IO : ADMISSION_MAIN;
        vcpu->period = random_between(&world->random, 20, 150);
        vcpu->budget = random_between(&world->random, 1, 1 + vcpu->period / 10);
    }
    return admission_test_within(&world->supply, inside->set, inside->count, inside->responses,
                                 &result) == SCHEDULE_OK;
}

static void add_inside(struct world *world, struct inside *inside)
{
    for (unsigned i = 0; i < inside->count; i++) {
        const struct admission_vcpu *vcpu = &inside->set[i];

        if (vcpu->kind == ADMISSION_MAIN) {
            (void)core_add_main(&inside->core, vcpu->budget, vcpu->period,
                                (unsigned)random_between(&world->random, 2, 32));
        } else {
            (void)core_add_io(&inside->core, vcpu->budget, vcpu->period);
        }
    }
}

static void wake_inside(struct world *world, struct inside *inside)
{
    for (unsigned i = 0; i < inside->count; i++) {
        struct core_vcpu *vcpu = &inside->core.vcpu[i];
        const struct admission_vcpu *served =
            &inside->set[random_below(&world->random, inside->count)];

        if (!decide(world, world->busy)) {
            continue;
        }
        if (vcpu->kind == ADMISSION_IO && served->kind == ADMISSION_MAIN) {
            core_wake(&inside->core, vcpu, served->period);
        } else if (vcpu->kind == ADMISSION_MAIN && !vcpu->runnable) {
            core_wake(&inside->core, vcpu, 0);
        }
    }
}

/* Passes one tick of both cores. The guest executes its VCPUs, or works in the background. */
static void run_tick_inside(struct world *world, struct inside *inside)
{
    struct core_vcpu *guest = guest_of(world);
    struct core_vcpu *vcpu;

    wake_inside(world, inside);
    vcpu = core_pick(&inside->core);
    if (vcpu != NULL && !guest->runnable) {
        wake(world, world->guest);
    }
    if (!run_tick(world, vcpu != NULL)) {
        core_execute(&inside->core, NULL);
        return;
    }
    if (vcpu != NULL && vcpu->kind == ADMISSION_MAIN) {
        uint64_t response = inside->core.now + 1 - sporadic_server_eligible(&vcpu->sporadic);

        assert_true(response <= inside->responses[vcpu - inside->core.vcpu].ticks);
    }
    core_execute(&inside->core, vcpu);
    if (vcpu != NULL && decide(world, world->rest)) {
        core_block(&inside->core, vcpu);
    }
}

static bool run_inside(uint64_t seed)
{
    static const unsigned percents[] = {0, 2, 10, 30, 70, 100};
    struct world world = {.random = seed * UINT64_C(0x9E3779B97F4A7C15)};
    struct inside inside = {.count = 0};

    if (!choose_set(&world)) {
        return false;
    }
    world.busy = percents[random_between(&world.random, 1, 5)];
    world.rest = percents[random_below(&world.random, 5)];
    add_set(&world);
    if (!choose_inside(&world, &inside)) {
        return false;
    }
    add_inside(&world, &inside);
    for (unsigned i = 0; i < TICKS; i++) {
        run_tick_inside(&world, &inside);
    }
    return true;
}

static void test_vcpus_of_a_guest_keep_their_responses(void **state)
{
    unsigned admitted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        admitted += run_inside(seed) ? 1 : 0;
    }
    assert_true(admitted >= SETS / 8);
}

/* The worst case of Shin and Lee, and of Davis and Burns, with one piece. */
static void test_figures(void **state)
{
    const struct supply last = {.budget = 2, .period = 10, .delay = 5, .piece = 2};
    const struct supply first = {.budget = 2, .period = 10, .piece = 2};
    const struct supply pieces = {.budget = 4, .period = 10, .waiting = 1, .piece = 2};

    (void)state;
    assert_true(supply_within(&last, 13) == 0 && supply_within(&last, 14) == 1);
    assert_true(supply_within(&last, 15) == 2 && supply_within(&last, 23) == 2);
    assert_true(supply_within(&last, 24) == 3);
    assert_true(supply_time(&last, 3) == 24);
    assert_true(supply_within(&first, 8) == 0 && supply_within(&first, 10) == 2);
    /* Three ticks after the gap of 6, the fourth just before the next budget at 16. */
    assert_true(supply_within(&pieces, 9) == 3 && supply_within(&pieces, 15) == 3);
    assert_true(supply_within(&pieces, 16) == 4 && supply_within(&pieces, 19) == 7);
    assert_true(supply_within(&pieces, 25) == 7 && supply_within(&pieces, 26) == 8);
}

/* supply_time() is the inverse of supply_within(), also with costs. */
static void test_inverse(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        struct supply supply = {.budget = random_between(&random, 1, 30)};
        uint64_t time = 0;

        supply.period = supply.budget + random_below(&random, 30);
        supply.delay = random_below(&random, 30);
        supply.waiting = random_below(&random, supply.budget);
        supply.piece = random_between(&random, 1, supply.budget);
        supply.cost = random_below(&random, 3);
        assert_true(supply_is_valid(&supply));
        for (uint64_t ticks = 0; ticks < 60; ticks++) {
            while (supply_within(&supply, time) < ticks && time < 20000) {
                assert_true(supply_within(&supply, time) <= supply_within(&supply, time + 1));
                time++;
            }
            if (time < 20000) {
                assert_true(supply_time(&supply, ticks) == time);
            } else {
                assert_true(supply_time(&supply, ticks) >= 20000);
            }
        }
    }
}

static void test_limits(void **state)
{
    const struct supply none = {.budget = 0};
    const struct supply whole = {.budget = 7, .period = 7, .piece = 7};
    const struct supply longest = {
        .budget = 1, .period = SCHEDULE_PERIOD_MAX, .delay = SCHEDULE_PERIOD_MAX, .piece = 1};
    const struct supply costly = {.budget = 4, .period = 8, .piece = 2, .cost = 2};
    struct supply wrong = {.budget = 1, .period = 1, .piece = 1};

    (void)state;
    assert_true(supply_is_valid(&none) && supply_is_valid(&longest) && supply_is_valid(&wrong));
    assert_true(supply_within(&none, SCHEDULE_NOW_MAX) == 0);
    assert_true(supply_time(&none, 1) == SCHEDULE_NEVER && supply_time(&none, 0) == 0);
    assert_true(supply_within(&whole, 1000) == 1000 && supply_time(&whole, 1000) == 1000);
    assert_true(supply_time(&longest, UINT64_C(1) << 51) == SCHEDULE_NEVER);
    assert_true(supply_time(&longest, SCHEDULE_NEVER) == SCHEDULE_NEVER);
    assert_true(supply_within(&longest, SCHEDULE_NOW_MAX) > 0);
    assert_true(supply_time(&costly, 1) == SCHEDULE_NEVER);
    assert_true(supply_within(&costly, SCHEDULE_NOW_MAX) == 0);
    wrong.waiting = 1;
    assert_false(supply_is_valid(&wrong));
    wrong = (struct supply){.budget = 2, .period = 1, .piece = 1};
    assert_false(supply_is_valid(&wrong));
    wrong = (struct supply){.budget = 1, .period = 1, .piece = 2};
    assert_false(supply_is_valid(&wrong));
    wrong = (struct supply){.budget = 1, .period = 1};
    assert_false(supply_is_valid(&wrong));
    wrong = (struct supply){.budget = 1, .period = 1, .piece = 1, .delay = SCHEDULE_NEVER};
    assert_false(supply_is_valid(&wrong));
    wrong = (struct supply){.budget = 1, .period = 1, .piece = 1, .cost = SCHEDULE_NEVER};
    assert_false(supply_is_valid(&wrong));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_guests_receive_the_supply),
        cmocka_unit_test(test_vcpus_of_a_guest_keep_their_responses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
