/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A search for the worst that other VCPUs can do to a control loop. The attackers' threads execute
 * until their budget is about to end, ends, or has ended, and wake at replenishments and at the
 * releases of the control loop. Hill climbing changes their patterns so that the longest response
 * of the control loop grows. No pattern may make it longer than the response that admission_test()
 * computed, or make any VCPU use more of a busy window than the analysis allows it
 * (schedule/admission.h).
 *
 * Time passes only while a thread executes, so the bounds hold to the tick.
 *
 * Arguments: the number of sets of VCPUs, and of the patterns tried for each; and "show" prints the
 * worst pattern that was found for the first set, in the notation of tests/guests/storm.
 */
#include "kernel/periodic.h"
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include "schedule/admission.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS     12u
#define PATTERNS 150u

#define VCPUS_LIMIT 8u
#define STEPS       10u
#define MUTEXES     2u
#define JOBS        30u
#define PERIOD      100u /* of the control loop */
#define END         ((uint64_t)PERIOD * (JOBS + 1))
#define LOGGED      64u

enum execution {
    EXECUTE_TICKS,
    EXECUTE_UNTIL_LEFT, /* until so many ticks of the budget are left */
    EXECUTE_BEYOND,     /* so many ticks in the background, behind the end of the budget */
    EXECUTE_LOCKED,     /* with a mutex, which other attackers may wait for */
    EXECUTIONS
};

enum wait {
    WAIT_TICKS,
    WAIT_RELEASE,       /* for a release of the control loop, or a tick before or after */
    WAIT_REPLENISHMENT, /* for one of the own server's, or a tick before or after */
    WAIT_SERVICE,       /* for the work of an I/O VCPU */
    WAIT_NOT,
    WAITS
};

struct step {
    uint8_t execution; /* enum execution */
    uint8_t ticks;
    uint8_t wait; /* enum wait */
    uint8_t amount;
};

struct pattern {
    struct step steps[VCPUS_LIMIT][STEPS];
};

/* What executed in a tick on a budget; `vcpu` is 0 in the background. */
struct tick {
    uint8_t vcpu; /* id */
    uint8_t level;
};

struct attacker {
    struct semaphore requested; /* I/O VCPU: its thread has work */
    struct thread *thread;
    struct {
        uint64_t at;
        uint64_t ticks;
    } log[LOGGED];
    unsigned logged;
};

static uint64_t seed = 1;
static unsigned sets = SETS;
static unsigned patterns = PATTERNS;
static bool show;

/* The set of VCPUs; the ids are the indices + 1. */
static struct admission_vcpu vcpus[VCPUS_LIMIT];
static struct admission_response responses[VCPUS_LIMIT];
static uint64_t bound; /* response of the control loop: its last tick begins no later */
static unsigned vcpu_count;
static unsigned control;

static struct pattern pattern; /* the present one */
static struct attacker attackers[VCPUS_LIMIT];
static struct mutex mutexes[MUTEXES];
static struct semaphore served;
static struct tick timeline[END];
static struct periodic_statistics outcome;
static uint64_t responses_sum;

static unsigned chance(unsigned limit)
{
    return (unsigned)random_below(&seed, limit);
}

static bool is_io(unsigned vcpu)
{
    return vcpus[vcpu].kind == ADMISSION_IO;
}

/* The threads. */

static void execute_tick(void)
{
    const struct vcpu *vcpu = core_this()->current->standing.charged;
    uint64_t now = time_now();

    if (now < END && vcpu != NULL && vcpu->has_budget) {
        timeline[now] = (struct tick){(uint8_t)vcpu->id, (uint8_t)vcpu->level};
    }
    host_clock_advance(1);
}

static unsigned execute(unsigned ticks)
{
    for (unsigned i = 0; i < ticks; i++) {
        execute_tick();
    }
    return ticks;
}

/* Returns the ticks that are left of the calling thread's budget. */
static uint64_t budget_left(void)
{
    interrupt_state state = interrupts_save();
    uint64_t now = core_charge(core_this());
    const struct vcpu *vcpu = core_this()->current->standing.bound;
    uint64_t left = vcpu->has_budget ? vcpu_server_available(&vcpu->server, now) : 0;

    interrupts_restore(state);
    return left;
}

static unsigned execute_until_left(unsigned left)
{
    unsigned executed = 0;

    while (budget_left() > left && time_now() < END) {
        executed += execute(1);
    }
    return executed;
}

static unsigned execute_locked(unsigned ticks)
{
    struct mutex *mutex = &mutexes[ticks % MUTEXES];

    if (mutex_lock(mutex, time_after(PERIOD)) != RESULT_OK) {
        return 0;
    }
    (void)execute(ticks % 16);
    if (ticks % 3 == 0) {
        thread_sleep_until(time_after(ticks % 8));
    }
    (void)mutex_unlock(mutex);
    return ticks % 16;
}

static unsigned execute_step(const struct step *step)
{
    switch (step->execution) {
    case EXECUTE_UNTIL_LEFT:
        return execute_until_left(step->ticks % 3);
    case EXECUTE_BEYOND:
        return execute_until_left(0) + execute(step->ticks % 4);
    case EXECUTE_LOCKED:
        return execute_locked(step->ticks);
    default:
        return execute(step->ticks % 32);
    }
}

/* Returns the time of a replenishment of the VCPU. */
static uint64_t replenishment_of(unsigned vcpu, unsigned number)
{
    interrupt_state state = interrupts_save();
    const struct vcpu_server *server =
        &vcpu_set_find(&core_this()->policy.vcpus, (int)vcpu + 1)->server;
    uint64_t time;

    (void)core_charge(core_this());
    if (server->is_io) {
        time = server->io.eligible;
    } else {
        const struct replenishment_queue *queue = &server->main.replenishments;

        time = replenishment_queue_at(queue, number % queue->count)->time;
    }
    interrupts_restore(state);
    return time;
}

static void wait_for_service(unsigned amount)
{
    unsigned io = amount % vcpu_count;

    if (is_io(io)) {
        (void)semaphore_post(&attackers[io].requested);
        (void)vcpu_request_service(attackers[io].thread);
        (void)semaphore_wait(&served, time_after(PERIOD));
        (void)vcpu_request_service(NULL);
    }
}

/* Sleeps until a tick before the time, until the time, or until a tick after it. */
static void sleep_about(uint64_t time, unsigned choice)
{
    thread_sleep_until(time + choice % 3 - 1);
}

static void wait_step(unsigned self, const struct step *step)
{
    switch (step->wait) {
    case WAIT_RELEASE:
        sleep_about((time_now() / PERIOD + 1) * PERIOD, step->amount);
        break;
    case WAIT_REPLENISHMENT:
        sleep_about(replenishment_of(self, step->amount / 3), step->amount);
        break;
    case WAIT_SERVICE:
        wait_for_service(step->amount);
        break;
    case WAIT_TICKS:
        thread_sleep_until(time_after(step->amount));
        break;
    default:
        break;
    }
}

static void log_step(struct attacker *attacker, uint64_t at, uint64_t ticks)
{
    if (attacker->logged < LOGGED && ticks > 0) {
        attacker->log[attacker->logged].at = at;
        attacker->log[attacker->logged].ticks = ticks;
        attacker->logged++;
    }
}

static void attack(void *argument)
{
    struct attacker *attacker = argument;
    unsigned self = (unsigned)(attacker - attackers);

    thread_sleep_until(1); /* until all threads exist */
    for (unsigned i = 0; time_now() < END; i++) {
        const struct step *step = &pattern.steps[self][i % STEPS];
        uint64_t at = time_now();

        log_step(attacker, at, execute_step(step));
        wait_step(self, step);
        if (time_now() == at) {
            thread_sleep_until(at + 1);
        }
    }
}

static void serve(void *argument)
{
    struct attacker *attacker = argument;
    unsigned self = (unsigned)(attacker - attackers);

    for (unsigned i = 0;; i++) {
        CHECK_EQUAL(semaphore_wait(&attacker->requested, DEADLINE_NONE), RESULT_OK);
        (void)execute_step(&pattern.steps[self][i % STEPS]);
        (void)semaphore_post(&served);
    }
}

/* The control loop executes all ticks of its budget but the last, in which it tells that its job is
 * complete. That takes no time, but without budget it would take place in the background. */
static void run_control(void *argument)
{
    static struct periodic periodic;
    const struct periodic_attributes attributes = {.period = PERIOD, .first = PERIOD};

    (void)argument;
    CHECK_EQUAL(periodic_start(&periodic, &attributes), RESULT_OK);
    responses_sum = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        uint64_t release = periodic_wait(&periodic);

        (void)execute((unsigned)vcpus[control].budget - 1);
        responses_sum += time_now() - release;
    }
    periodic_stop(&periodic);
    periodic_statistics(&periodic, &outcome);
}

static void create_vcpu(unsigned vcpu)
{
    struct vcpu_param param = {.policy = is_io(vcpu) ? SCHED_PIBS : SCHED_SPORADIC,
                               .C = vcpus[vcpu].budget,
                               .T = vcpus[vcpu].period};

    CHECK_EQUAL(vcpu_create(&param), vcpu + 1);
}

/* The threads' priorities are the opposite of their VCPUs' in the background: the control loop
 * has the lowest. */
static void start_thread(unsigned vcpu)
{
    struct attacker *attacker = &attackers[vcpu];

    semaphore_init(&attacker->requested, 0, 8);
    attacker->logged = 0;
    if (vcpu == control) {
        attacker->thread = start("control", 1, run_control, NULL);
    } else {
        attacker->thread = start("attacker", 2 + vcpu, is_io(vcpu) ? serve : attack, attacker);
    }
    CHECK_EQUAL(vcpu_bind_thread(attacker->thread, (int)vcpu + 1), 0);
}

static void init_attack(void)
{
    memset(timeline, 0, sizeof(timeline));
    outcome = (struct periodic_statistics){0};
    semaphore_init(&served, 0, 8);
    for (unsigned i = 0; i < MUTEXES; i++) {
        mutex_init(&mutexes[i]);
    }
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    for (unsigned i = 0; i < vcpu_count; i++) {
        create_vcpu(i);
    }
    for (unsigned i = 0; i < vcpu_count; i++) {
        start_thread(i);
    }
    finish(attackers[control].thread);
}

/* The checks of the timeline. */

/* Returns what the VCPU may use of a busy window of so many ticks at the priority of `level`. */
static uint64_t allowance(unsigned vcpu, unsigned level, uint64_t ticks)
{
    const struct admission_vcpu *used = &vcpus[vcpu];
    uint64_t share;

    if (!is_io(vcpu)) {
        return (ticks + used->period - 1) / used->period * used->budget;
    }
    share = pibs_server_share(used->budget, used->period, vcpus[level].period);
    return ticks > share ? share + (ticks - share) * used->budget / used->period : share;
}

static unsigned level_of(unsigned vcpu)
{
    unsigned longer = 0;

    for (unsigned i = 0; i < vcpu_count; i++) {
        longer += !is_io(i) && (vcpus[i].period > vcpus[vcpu].period ||
                                (vcpus[i].period == vcpus[vcpu].period && i > vcpu));
    }
    return 2 * longer + 2;
}

/* Checks all busy windows at the priority of a Main VCPU. Returns the first tick in which a VCPU
 * used more than its allowance; END if none did. */
static unsigned check_windows(unsigned level_vcpu)
{
    uint64_t used[VCPUS_LIMIT] = {0};
    unsigned level = level_of(level_vcpu);
    unsigned begin = 0;

    for (unsigned now = 0; now < END; now++) {
        unsigned vcpu = timeline[now].vcpu - 1u;

        if (timeline[now].level < level) {
            memset(used, 0, sizeof(used));
            begin = now + 1;
            continue;
        }
        used[vcpu]++;
        if (used[vcpu] > allowance(vcpu, level_vcpu, now + 1 - begin)) {
            return now;
        }
    }
    return END;
}

static unsigned has_io(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < vcpu_count; i++) {
        count += is_io(i) ? 1 : 0;
    }
    return count;
}

/* Checks that nothing of the highest priority used more than its budget in any window of its
 * period. Returns as check_windows(). */
static unsigned check_top(void)
{
    unsigned top = 0;
    uint64_t used = 0;

    for (unsigned i = 1; i < vcpu_count; i++) {
        top = !is_io(i) && level_of(i) > level_of(top) ? i : top;
    }
    for (unsigned now = 0; now < END; now++) {
        uint64_t period = vcpus[top].period;

        used += timeline[now].vcpu == top + 1 ? 1 : 0;
        used -= now >= period && timeline[now - period].vcpu == top + 1 ? 1 : 0;
        if (used > vcpus[top].budget) {
            return now;
        }
    }
    return END;
}

static void print_set(void)
{
    for (unsigned i = 0; i < vcpu_count; i++) {
        print_message("  VCPU %u: %s%s %llu/%llu, response %lld\n", i + 1, is_io(i) ? "io" : "main",
                      i == control ? " (control)" : "", (unsigned long long)vcpus[i].budget,
                      (unsigned long long)vcpus[i].period, (long long)responses[i].ticks);
    }
}

static void print_pattern(void)
{
    for (unsigned i = 0; i < vcpu_count; i++) {
        print_message("  pattern %u:", i + 1);
        for (unsigned j = 0; j < STEPS; j++) {
            const struct step *step = &pattern.steps[i][j];

            print_message(" %u,%u,%u,%u", step->execution, step->ticks, step->wait, step->amount);
        }
        print_message("\n");
    }
}

static void violation(const char *what, unsigned at)
{
    print_set();
    print_pattern();
    fail_msg("%s at %u: response %llu of %llu, %llu misses", what, at,
             (unsigned long long)outcome.worst_response, (unsigned long long)bound,
             (unsigned long long)outcome.misses);
}

/* Runs the present pattern and checks it. Returns a number that grows with the longest response,
 * and with the sum of the responses. */
static uint64_t try_pattern(void)
{
    kernel_run(init_attack);
    if (outcome.completions != JOBS || outcome.misses > 0 || outcome.skipped > 0) {
        violation("a deadline was missed", 0);
    }
    if (outcome.worst_response > bound) {
        violation("the response is too long", 0);
    }
    for (unsigned i = 0; i < vcpu_count; i++) {
        unsigned at = is_io(i) ? END : check_windows(i);

        if (at != END) {
            violation("a VCPU used too much of a busy window", at);
        }
    }
    if (!has_io() && check_top() != END) {
        violation("the highest VCPU used more than its budget in a period", check_top());
    }
    return outcome.worst_response * END * PERIOD + responses_sum;
}

/* The search. */

static bool is_admitted(void)
{
    struct admission_result result;

    return admission_test(vcpus, vcpu_count, responses, &result) == SCHEDULE_OK;
}

/* The set for the machine: the control loop with 1 ms of each 10 ms, if a tick is 100 us. */
static void choose_first_set(void)
{
    static const struct admission_vcpu first[] = {
        {.kind = ADMISSION_MAIN, .budget = 6, .period = 20},
        {.kind = ADMISSION_MAIN, .budget = 10, .period = 50},
        {.kind = ADMISSION_MAIN, .budget = 15, .period = 100},
        {.kind = ADMISSION_MAIN, .budget = 10, .period = 100},
        {.kind = ADMISSION_IO, .budget = 10, .period = 100},
        {.kind = ADMISSION_MAIN, .budget = 10, .period = 400},
    };

    memcpy(vcpus, first, sizeof(first));
    vcpu_count = sizeof(first) / sizeof(first[0]);
    control = 3;
}

/* Chooses a set at random, and raises budgets as long as it is admitted. */
static void choose_set(void)
{
    static const uint8_t periods[] = {10, 15, 20, 25, 30, 40, 50, 70, 99, 100, 101, 150, 200, 250};

    vcpu_count = 3 + chance(VCPUS_LIMIT - 2);
    control = chance(vcpu_count);
    for (unsigned i = 0; i < vcpu_count; i++) {
        bool io = i != control && chance(4) == 0;
        uint64_t period = io ? 100 : periods[chance(sizeof(periods))];

        vcpus[i] = (struct admission_vcpu){.kind = io ? ADMISSION_IO : ADMISSION_MAIN,
                                           .budget = i == control ? 2 : 1,
                                           .period = i == control ? PERIOD : period};
    }
    for (unsigned i = 0; i < 200; i++) {
        struct admission_vcpu *vcpu = &vcpus[chance(vcpu_count)];

        vcpu->budget++;
        if (vcpu->budget > vcpu->period || !is_admitted()) {
            vcpu->budget--;
        }
    }
}

static struct step random_step(void)
{
    return (struct step){(uint8_t)chance(EXECUTIONS), (uint8_t)chance(64), (uint8_t)chance(WAITS),
                         (uint8_t)chance(128)};
}

/* Half of the VCPUs are busy from the releases of the control loop on, as long as they have budget,
 * which without I/O VCPUs is the critical instant. */
static void first_pattern(void)
{
    for (unsigned i = 0; i < VCPUS_LIMIT; i++) {
        bool busy = chance(2) == 0;

        for (unsigned j = 0; j < STEPS; j++) {
            pattern.steps[i][j] =
                busy ? (struct step){EXECUTE_UNTIL_LEFT, 0, WAIT_RELEASE, 1} : random_step();
        }
    }
}

static void change_pattern(void)
{
    for (unsigned changes = 1 + chance(3); changes > 0; changes--) {
        struct step *step = &pattern.steps[chance(vcpu_count)][chance(STEPS)];

        switch (chance(4)) {
        case 0:
            *step = random_step();
            break;
        case 1:
            step->ticks = (uint8_t)chance(64);
            break;
        case 2:
            step->amount = (uint8_t)chance(128);
            break;
        default:
            step->wait = (uint8_t)chance(WAITS);
        }
    }
}

static void show_worst(void)
{
    (void)try_pattern();
    print_set();
    for (unsigned i = 0; i < vcpu_count; i++) {
        print_message("  attacker%u=", i);
        for (unsigned j = 0; j < attackers[i].logged; j++) {
            print_message("%s%llu+%llu", j == 0 ? "" : ",",
                          (unsigned long long)attackers[i].log[j].at * 100,
                          (unsigned long long)attackers[i].log[j].ticks * 100);
        }
        print_message("\n");
    }
}

/* Climbs from a first pattern. Returns the longest response that was found. */
static uint64_t climb(void)
{
    struct pattern best;
    uint64_t best_found;

    first_pattern();
    best = pattern;
    best_found = try_pattern();
    for (unsigned i = 1; i < patterns; i++) {
        uint64_t found;

        pattern = best;
        change_pattern();
        found = try_pattern();
        if (found >= best_found) {
            best = pattern;
            best_found = found;
        }
    }
    pattern = best;
    return best_found / (END * PERIOD);
}

static void test_attacks(void **state)
{
    unsigned reached = 0;

    (void)state;
    for (unsigned i = 0; i < sets; i++) {
        uint64_t found;

        if (i == 0) {
            choose_first_set();
        } else {
            choose_set();
        }
        assert_true(is_admitted());
        bound = responses[control].ticks - 1;
        found = climb();
        if (show) {
            print_message("set %u: longest response %llu of %llu\n", i, (unsigned long long)found,
                          (unsigned long long)bound);
        }
        if (show && i == 0) {
            show_worst();
        }
        reached += found >= bound * 3 / 4 ? 1 : 0;
    }
    /* The attacks are strong: in many sets the response comes close to the bound. */
    assert_true(reached * 3 >= sets);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks),
    };

    if (argc > 2) {
        sets = (unsigned)strtoul(argv[1], NULL, 10);
        patterns = (unsigned)strtoul(argv[2], NULL, 10);
        show = argc > 3;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
