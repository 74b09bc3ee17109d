/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared core whose hypervisor takes time (docs/decisions/0052-overheads-in-the-analysis.md): for
 * changes between VCPUs, for interrupts of VCPUs that do not execute, and for exits. The servers
 * are charged as the hypervisor charges them. In random sets that admission accepts with these
 * costs, no tick of a budget is executed later than the analysis says, and no guest receives less
 * than the supply.
 */
#include "core.h"
#include "schedule/supply.h"
#include "schedule_test.h"

#define SETS    700u
#define TICKS   1500u
#define STRETCH 200u
#define NOBODY  CORE_VCPUS_MAX

struct costs {
    uint64_t enter; /* a change to a VCPU that wakes, or has budget again */
    uint64_t leave; /* a change from a VCPU that blocks, or has used its budget */
    uint64_t entry; /* the longest exit */
};

/* Time at EL2 that nothing interrupts. */
struct section {
    uint64_t left;      /* ticks */
    unsigned payer;     /* VCPU */
    unsigned next;      /* VCPU that executes afterwards; NOBODY: no change */
    bool is_guest_work; /* an exit or an interrupt of the payer's guest */
};

struct world {
    uint64_t random;
    struct costs costs;
    struct core core; /* its servers; core_execute() charges them */
    struct admission_vcpu set[CORE_VCPUS_MAX];
    struct admission_response responses[CORE_VCPUS_MAX];
    uint64_t sources[CORE_VCPUS_MAX];    /* that can interrupt for a VCPU */
    uint64_t interrupts[CORE_VCPUS_MAX]; /* that have, since the VCPU executed */
    unsigned count;
    unsigned current; /* the VCPU whose state the core has */
    struct section section;
    unsigned guest; /* the VCPU that is measured */
    bool is_stretch;
    struct supply supply;
    unsigned busy, rest, exits; /* percent of the ticks */
    uint64_t executed[STRETCH + 1];
};

static bool decide(struct world *world, unsigned percent)
{
    return random_below(&world->random, 100) < percent;
}

/* Returns true if VCPU `one` executes before VCPU `other`. */
static bool outranks(const struct world *world, unsigned one, unsigned other)
{
    const struct admission_vcpu *a = &world->set[one], *b = &world->set[other];

    if (a->period != b->period) {
        return a->period < b->period;
    }
    if (a->kind != b->kind) {
        return a->kind != ADMISSION_MAIN;
    }
    return (a->jitter != 0) != (b->jitter != 0) ? b->jitter != 0 : one < other;
}

static uint64_t longest_section(const struct costs *costs)
{
    uint64_t change = costs->enter > costs->leave ? costs->enter : costs->leave;

    return costs->entry > change ? costs->entry : change;
}

/* The additions of the analysis, as the checker computes them. */
static void add_overheads(struct world *world)
{
    const struct costs *costs = &world->costs;

    for (unsigned i = 0; i < world->count; i++) {
        uint64_t others = 0;

        for (unsigned k = 0; k < world->count; k++) {
            if (k != i && outranks(world, i, k)) {
                others += world->sources[k];
            }
        }
        world->set[i].blocking = others > 0 ? longest_section(costs) + costs->leave : 0;
        world->set[i].blocking += others * costs->enter;
        world->set[i].overrun =
            longest_section(costs) + costs->leave + world->sources[i] * costs->enter;
    }
}

static bool choose_set(struct world *world)
{
    struct admission_result result;

    world->costs =
        (struct costs){random_between(&world->random, 1, 3), random_between(&world->random, 1, 3),
                       random_between(&world->random, 1, 5)};
    world->count = (unsigned)random_between(&world->random, 1, 4);
    for (unsigned i = 0; i < world->count; i++) {
        struct admission_vcpu *vcpu = &world->set[i];

        vcpu->kind = ADMISSION_MAIN;
        vcpu->period = random_between(&world->random, 40, 200);
        vcpu->budget = random_between(&world->random, 4, 4 + vcpu->period / world->count);
        if (vcpu->budget < vcpu->period && decide(world, 25)) {
            vcpu->jitter = vcpu->period - vcpu->budget; /* of a deferrable server */
        }
        world->sources[i] = random_between(&world->random, 1, 2);
    }
    if (decide(world, 25)) { /* an I/O VCPU for the period of the first */
        struct admission_vcpu *vcpu = &world->set[world->count];

        *vcpu =
            (struct admission_vcpu){.kind = ADMISSION_IO_OF_PERIOD, .period = world->set[0].period};
        vcpu->budget = random_between(&world->random, 4, 4 + vcpu->period / 4);
        world->sources[world->count++] = 1;
    }
    world->guest = (unsigned)random_below(&world->random, world->count);
    add_overheads(world);
    return admission_test(world->set, world->count, world->responses, &result) == SCHEDULE_OK;
}

static void add_set(struct world *world)
{
    const struct admission_vcpu *guest = &world->set[world->guest];
    uint64_t pieces = random_between(&world->random, 1, 6);
    bool is_whole = guest->kind != ADMISSION_MAIN || guest->jitter != 0; /* one piece */

    for (unsigned i = 0; i < world->count; i++) {
        const struct admission_vcpu *vcpu = &world->set[i];

        if (vcpu->jitter != 0) {
            (void)core_add_deferrable(&world->core, vcpu->budget, vcpu->period);
        } else if (vcpu->kind == ADMISSION_MAIN) {
            struct core_vcpu *added =
                core_add_main(&world->core, vcpu->budget, vcpu->period, (unsigned)pieces + 2);

            sporadic_server_set_piece(&added->sporadic, (vcpu->budget + pieces - 1) / pieces);
        } else {
            (void)core_add_io(&world->core, vcpu->budget, vcpu->period);
        }
    }
    world->supply = (struct supply){
        .budget = guest->budget,
        .period = guest->period,
        .delay = world->responses[world->guest].ticks - guest->budget,
        .waiting = is_whole ? 0 : (guest->budget + pieces - 1) / pieces - 1,
        .piece = is_whole ? guest->budget : (guest->budget + pieces - 1) / pieces,
        .cost = world->costs.enter + world->costs.leave,
    };
}

static struct core_vcpu *vcpu_of(struct world *world, unsigned vcpu)
{
    return &world->core.vcpu[vcpu];
}

static unsigned number_of(const struct world *world, const struct core_vcpu *vcpu)
{
    return vcpu == NULL ? NOBODY : (unsigned)(vcpu - world->core.vcpu);
}

static void begin_section(struct world *world, uint64_t most, unsigned payer, unsigned next)
{
    world->section =
        (struct section){.left = decide(world, 50) ? most : random_between(&world->random, 1, most),
                         .payer = payer,
                         .next = next};
}

/* Returns true if the VCPU has work and budget. */
static bool is_ready(struct world *world, unsigned vcpu)
{
    const struct core_vcpu *each = vcpu_of(world, vcpu);

    return each->runnable && core_available(each, world->core.now) > 0;
}

static void wake(struct world *world, unsigned vcpu)
{
    if (!vcpu_of(world, vcpu)->runnable) {
        core_wake(&world->core, vcpu_of(world, vcpu), world->set[vcpu].period);
    }
}

/* A source interrupts for a VCPU that does not execute. If the VCPU gets the core, the interrupt is
 * a part of the change to it. */
static void interrupt(struct world *world, unsigned vcpu)
{
    wake(world, vcpu);
    world->interrupts[vcpu]++;
    if (number_of(world, core_pick(&world->core)) != vcpu) {
        begin_section(world, world->costs.enter, vcpu, NOBODY);
        world->section.is_guest_work = true;
    }
}

/* Interrupts arrive. The core takes one after the other. */
static void take_interrupts(struct world *world)
{
    for (unsigned i = 0; i < world->count && world->section.left == 0; i++) {
        if (i != world->current && world->interrupts[i] < world->sources[i] &&
            decide(world, world->busy)) {
            interrupt(world, i);
        }
    }
}

/* Chooses the VCPU that executes. A change to another one takes time, which the VCPU that preempts
 * pays, or else the VCPU that leaves the core. */
static void choose(struct world *world)
{
    unsigned next = number_of(world, core_pick(&world->core));

    if (next == NOBODY) {
        world->current = NOBODY;
    } else if (next != world->current) {
        bool next_pays = world->current == NOBODY || is_ready(world, world->current);

        begin_section(world, next_pays ? world->costs.enter : world->costs.leave,
                      next_pays ? next : world->current, next);
    }
}

/* Charges one tick to a VCPU. */
static void charge(struct world *world, unsigned vcpu)
{
    core_execute(&world->core, vcpu == NOBODY ? NULL : vcpu_of(world, vcpu));
}

static bool run_section(struct world *world)
{
    struct section *section = &world->section;
    bool is_work = section->payer == world->guest && section->is_guest_work;

    charge(world, section->payer);
    section->left--;
    if (section->left == 0 && section->next != NOBODY) {
        world->current = section->next;
        world->interrupts[world->current] = 0;
    }
    return is_work;
}

/* The guest of the current VCPU executes for one tick. */
static void run_guest(struct world *world)
{
    struct core_vcpu *vcpu = vcpu_of(world, world->current);
    const struct admission_vcpu *admitted = &world->set[world->current];
    uint64_t eligible = vcpu->kind == ADMISSION_IO
                            ? pibs_server_eligible(&vcpu->pibs) + vcpu->pibs.usage
                            : core_available_since(vcpu, world->core.now);

    assert_true(world->core.now <=
                eligible + world->responses[world->current].ticks - admitted->budget);
    charge(world, world->current);
    if (decide(world, world->exits)) {
        begin_section(world, world->costs.entry, world->current, NOBODY);
        world->section.is_guest_work = true;
    } else if (!(world->is_stretch && world->current == world->guest) &&
               decide(world, world->rest)) {
        core_block(&world->core, vcpu);
    }
}

/* Passes one tick. Returns true if the measured guest executes, or the hypervisor for it. */
static bool run_tick(struct world *world)
{
    bool executes;

    if (world->section.left == 0) {
        take_interrupts(world);
    }
    if (world->section.left == 0) {
        choose(world);
    }
    if (world->section.left > 0) {
        return run_section(world);
    }
    executes = world->current == world->guest;
    if (world->current == NOBODY) {
        charge(world, NOBODY);
    } else {
        run_guest(world);
    }
    return executes;
}

static void run_stretch(struct world *world)
{
    uint64_t length = random_between(&world->random, 1, STRETCH);

    wake(world, world->guest);
    world->is_stretch = true;
    for (unsigned i = 0; i < length; i++) {
        world->executed[i + 1] = world->executed[i] + (run_tick(world) ? 1 : 0);
    }
    world->is_stretch = false;
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
    struct world world = {.random = seed * UINT64_C(0x9E3779B97F4A7C15), .current = NOBODY};

    if (!choose_set(&world)) {
        return false;
    }
    world.busy = percents[random_between(&world.random, 1, 5)];
    world.rest = percents[random_below(&world.random, 5)];
    world.exits = percents[random_below(&world.random, 5)];
    add_set(&world);
    while (world.core.now < TICKS) {
        for (uint64_t i = random_below(&world.random, 100); i > 0; i--) {
            (void)run_tick(&world);
        }
        run_stretch(&world);
    }
    return true;
}

static void test_no_response_exceeds_the_analysis(void **state)
{
    unsigned admitted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SETS; seed++) {
        admitted += run_set(seed) ? 1 : 0;
    }
    assert_true(admitted >= SETS / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_response_exceeds_the_analysis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
