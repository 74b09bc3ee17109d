/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests periodic threads, timers in a thread, condition variables and watchdogs with a real alarm.
 * The host may run something else at any time, so the checks depend on no duration.
 */
#include "check_threads.h"
#include "kernel/application.h"
#include "kernel/interrupt.h"
#include "kernel/periodic.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/watchdog.h"
#include "run_checks.h"

#define JOBS        100u
#define STEPS       2000u
#define MILLISECOND NANOSECONDS_PER_MILLISECOND

/* The logistic map: each step depends on every bit of all before it. */
static double iterate(double value, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        value = 3.99 * value * (1.0 - value);
    }
    return value;
}

struct worker {
    struct periodic_attributes attributes;
    struct periodic periodic;
    double value;
    bool failed;
};

static void work(void *argument)
{
    struct worker *worker = argument;
    uint64_t previous = 0;

    worker->failed = periodic_start(&worker->periodic, &worker->attributes) != RESULT_OK;
    for (unsigned i = 0; i < JOBS && !worker->failed; i++) {
        uint64_t release = periodic_wait(&worker->periodic);

        worker->failed = release <= previous || time_now() < release;
        previous = release;
        worker->value = iterate(worker->value, STEPS);
    }
}

static bool counters_add_up(const struct periodic *periodic)
{
    struct periodic_statistics statistics;

    periodic_statistics(periodic, &statistics);
    CHECK(statistics.completions == JOBS);
    CHECK(statistics.releases >= JOBS + statistics.skipped);
    CHECK(statistics.misses >= statistics.skipped);
    CHECK(statistics.worst_response >= statistics.worst_lateness);
    return true;
}

/* Threads with different periods preempt each other, and compute the same numbers as one thread
 * alone. */
static bool periodic_threads_compute(void)
{
    static const uint64_t periods[] = {500, 600, 700}; /* microseconds */
    static struct worker workers[3];
    struct thread *threads[3];

    for (unsigned i = 0; i < 3; i++) {
        workers[i] = (struct worker){
            .attributes = {.period = periods[i] * NANOSECONDS_PER_MICROSECOND,
                           .catch_up = i == 1 ? PERIODIC_RUN_EACH : PERIODIC_SKIP_MISSED},
            .value = 0.1 + 0.2 * i};
        threads[i] = start_thread("worker", OWN - 1 - i, false, work, &workers[i]);
        CHECK(threads[i] != NULL);
    }
    for (unsigned i = 0; i < 3; i++) {
        CHECK(join_thread(threads[i]));
        CHECK(!workers[i].failed);
        CHECK(workers[i].value == iterate(0.1 + 0.2 * i, JOBS * STEPS));
        CHECK(counters_add_up(&workers[i].periodic));
    }
    return true;
}

static struct {
    struct semaphore called; /* by the hook */
    struct semaphore end;
    struct periodic periodic;
} stuck;

static void post_miss(struct periodic *periodic, void *argument)
{
    (void)periodic;
    (void)argument;
    (void)semaphore_post(&stuck.called);
}

static void get_stuck(void *argument)
{
    const struct periodic_attributes attributes = {.period = MILLISECOND, .missed = post_miss};

    (void)argument;
    (void)periodic_start(&stuck.periodic, &attributes);
    (void)periodic_wait(&stuck.periodic);
    (void)semaphore_wait(&stuck.end, DEADLINE_NONE);
}

/* The hook is called although the thread neither runs nor completes its job. */
static bool stuck_thread_is_noticed(void)
{
    struct periodic_statistics statistics;
    struct thread *thread;

    semaphore_init(&stuck.called, 0, UINT32_MAX);
    semaphore_init(&stuck.end, 0, 1);
    thread = start_thread("stuck", OWN + 1, false, get_stuck, NULL);
    CHECK(thread != NULL);
    for (unsigned i = 0; i < 5; i++) {
        CHECK(semaphore_wait(&stuck.called, DEADLINE_NONE) == RESULT_OK);
    }
    periodic_statistics(&stuck.periodic, &statistics);
    CHECK(statistics.misses >= 5 && statistics.completions == 0);
    (void)semaphore_post(&stuck.end);
    CHECK(join_thread(thread));
    periodic_statistics(&stuck.periodic, &statistics);
    CHECK(statistics.completions == 1);
    return true;
}

static struct {
    double sum;
    unsigned calls;
    bool in_interrupt;
} callbacks;

/* Blocks, which a callback in interrupt context must not do. */
static void sum_harmonics(struct timer *timer, void *argument)
{
    (void)timer;
    callbacks.in_interrupt |= interrupt_context() || thread_current() != timer_callback_thread();
    thread_sleep_until(time_after(200 * NANOSECONDS_PER_MICROSECOND));
    callbacks.calls++;
    callbacks.sum += 1.0 / callbacks.calls;
    (void)semaphore_post(argument);
}

static bool timers_call_in_a_thread(void)
{
    struct semaphore called;
    struct timer timer;
    double sum = 0;
    unsigned calls;

    semaphore_init(&called, 0, UINT32_MAX);
    CHECK(timer_init_threaded(&timer, sum_harmonics, &called) == RESULT_OK);
    timer_arm_periodic(&timer, time_after(MILLISECOND), MILLISECOND, TIMER_FIRE_EACH);
    for (unsigned i = 0; i < 20; i++) {
        CHECK(semaphore_wait(&called, DEADLINE_NONE) == RESULT_OK);
    }
    (void)timer_cancel_wait(&timer);
    calls = callbacks.calls;
    CHECK(calls >= 20 && !callbacks.in_interrupt);
    for (unsigned i = 1; i <= calls; i++) {
        sum += 1.0 / i;
    }
    CHECK(callbacks.sum == sum);
    thread_sleep_until(time_after(5 * MILLISECOND));
    CHECK(callbacks.calls == calls);
    return true;
}

static struct {
    struct mutex guard;
    struct condition changed;
    unsigned turns;
} game;

/* Two threads take turns. */
static void take_turns(void *argument)
{
    unsigned parity = *(const unsigned *)argument;

    (void)mutex_lock(&game.guard, DEADLINE_NONE);
    while (game.turns < JOBS) {
        if (game.turns % 2 == parity) {
            game.turns++;
            condition_broadcast(&game.changed);
        } else {
            (void)condition_wait(&game.changed, &game.guard, time_after(MILLISECOND / 10));
        }
    }
    (void)mutex_unlock(&game.guard);
}

static bool conditions_are_signalled(void)
{
    static unsigned parities[] = {0, 1};
    struct thread *threads[2];

    mutex_init(&game.guard);
    condition_init(&game.changed);
    for (unsigned i = 0; i < 2; i++) {
        threads[i] = start_thread("player", OWN + i, false, take_turns, &parities[i]);
        CHECK(threads[i] != NULL);
    }
    for (unsigned i = 0; i < 2; i++) {
        CHECK(join_thread(threads[i]));
    }
    CHECK(game.turns == JOBS);
    return true;
}

static void post_expiration(struct watchdog *watchdog, void *argument)
{
    (void)watchdog;
    (void)semaphore_post(argument);
}

static bool watchdogs_expire(void)
{
    struct semaphore expired;
    struct watchdog watchdog;
    uint64_t armed;

    semaphore_init(&expired, 0, 1);
    watchdog_init(&watchdog, "test", post_expiration, &expired);
    watchdog_arm(&watchdog, NULL, 60 * NANOSECONDS_PER_SECOND);
    for (unsigned i = 0; i < 10; i++) {
        thread_sleep_until(time_after(MILLISECOND));
        CHECK(watchdog_feed(&watchdog));
    }
    CHECK(semaphore_wait(&expired, DEADLINE_POLL) == RESULT_TIMED_OUT);
    armed = time_now();
    watchdog_arm(&watchdog, NULL, 2 * MILLISECOND);
    CHECK(semaphore_wait(&expired, DEADLINE_NONE) == RESULT_OK);
    CHECK(time_now() - armed >= 2 * MILLISECOND);
    CHECK(!watchdog_feed(&watchdog));
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"periodic threads compute", periodic_threads_compute},
        {"a stuck thread is noticed", stuck_thread_is_noticed},
        {"timers call in a thread", timers_call_in_a_thread},
        {"conditions are signalled", conditions_are_signalled},
        {"watchdogs expire", watchdogs_expire},
    };

    return run_checks(checks, sizeof checks / sizeof checks[0]);
}
