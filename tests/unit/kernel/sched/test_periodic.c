/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests periodic threads: releases, catching up, deadlines, counters. */
#include "kernel/periodic.h"
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include "sched/thread_private.h"
#include <stdio.h>
#include <string.h>

#define PERIOD 100u
#define FIRST  1000u
#define JOBS   8u

/* A periodic thread, and for how long each of its jobs runs; 0 ends the thread. */
static struct worker {
    struct periodic_attributes attributes;
    uint64_t durations[JOBS];
    bool masked; /* interrupts are masked while the jobs run */
    struct periodic periodic;
    uint64_t deadline_misses; /* of the thread */
    unsigned hook_calls;
} worker;

static void note_time(const char *what, uint64_t time)
{
    char word[32];

    (void)snprintf(word, sizeof word, "%s%llu", what, (unsigned long long)time);
    note(word);
}

static void note_miss(struct periodic *periodic, void *argument)
{
    struct worker *of = argument;

    CHECK(periodic == &of->periodic);
    CHECK(interrupt_context());
    of->hook_calls++;
    note_time("!", time_now());
}

static uint64_t own_deadline_misses(void)
{
    struct thread_statistics all[8];
    size_t count = thread_statistics(all, 8);

    for (size_t i = 0; i < count; i++) {
        if (all[i].state == THREAD_RUNNING) {
            return all[i].deadline_misses;
        }
    }
    return UINT64_MAX;
}

static void run_job(const struct worker *of, uint64_t duration)
{
    interrupt_state state;

    if (of->masked) {
        state = interrupts_save();
        host_clock_advance(duration);
        interrupts_restore(state);
    } else {
        host_clock_advance(duration);
    }
}

/* Notes the release and the begin of each job, "release@begin". */
static void work(void *argument)
{
    struct worker *of = argument;
    char word[48];

    CHECK_EQUAL(periodic_start(&of->periodic, &of->attributes), RESULT_OK);
    for (unsigned i = 0; i < JOBS && of->durations[i] != 0; i++) {
        uint64_t release = periodic_wait(&of->periodic);

        (void)snprintf(word, sizeof word, "%llu@%llu", (unsigned long long)release,
                       (unsigned long long)time_now());
        note(word);
        run_job(of, of->durations[i]);
    }
    periodic_stop(&of->periodic);
    of->deadline_misses = own_deadline_misses();
}

static struct thread *start_worker(const struct worker *set_up)
{
    worker = *set_up;
    worker.attributes.period = PERIOD;
    worker.attributes.first = FIRST;
    worker.attributes.missed = note_miss;
    worker.attributes.argument = &worker;
    return start("worker", 40, work, &worker);
}

static void run_worker(const struct worker *set_up)
{
    finish(start_worker(set_up));
}

/* Checks the counters of a worker that has ended. */
static void check_counts(uint64_t releases, uint64_t completions, uint64_t misses, uint64_t skipped)
{
    struct periodic_statistics statistics;

    periodic_statistics(&worker.periodic, &statistics);
    CHECK_EQUAL(statistics.releases, releases);
    CHECK_EQUAL(statistics.completions, completions);
    CHECK_EQUAL(statistics.misses, misses);
    CHECK_EQUAL(statistics.skipped, skipped);
    CHECK_EQUAL(worker.deadline_misses, misses);
}

static void check_worst(uint64_t response, uint64_t lateness)
{
    struct periodic_statistics statistics;

    periodic_statistics(&worker.periodic, &statistics);
    CHECK_EQUAL(statistics.worst_response, response);
    CHECK_EQUAL(statistics.worst_lateness, lateness);
}

static void init_in_time(void)
{
    struct scheduler_statistics statistics;

    run_worker(&(struct worker){.durations = {10, 99, 10}});
    CHECK_NOTES("1000@1000 1100@1100 1200@1200");
    check_counts(3, 3, 0, 0);
    check_worst(99, 0);
    scheduler_statistics(&statistics);
    CHECK_EQUAL(statistics.interrupts, 3); /* the deadlines raise none */
    CHECK_EQUAL(time_now(), 1210);
}

static void test_in_time(void **state)
{
    (void)state;
    kernel_run(init_in_time);
}

static void init_skip(void)
{
    run_worker(&(struct worker){.durations = {250, 10, 10}});
    CHECK_NOTES("1000@1000 !1100 !1200 1200@1250 1300@1300");
    check_counts(4, 3, 2, 1);
    check_worst(250, 50);
}

static void init_each(void)
{
    run_worker(&(struct worker){.attributes = {.catch_up = PERIODIC_RUN_EACH},
                                .durations = {250, 10, 10, 10}});
    CHECK_NOTES("1000@1000 !1100 !1200 1100@1250 1200@1260 1300@1300");
    check_counts(4, 4, 2, 0);
    check_worst(250, 150);
}

/* A job that is complete one nanosecond after the deadline, one that is complete at the deadline,
 * and one that is released at the time of the completion. */
static void init_boundaries(void)
{
    run_worker(&(struct worker){.attributes = {.deadline = 50}, .durations = {51, 49, 10}});
    CHECK_NOTES("1000@1000 !1050 1100@1100 1200@1200");
    check_counts(3, 3, 1, 0);
}

static void test_catching_up(void **state)
{
    (void)state;
    kernel_run(init_skip);
    kernel_run(init_each);
    kernel_run(init_boundaries);
}

/* The deadline of the skipped release, 1350, has not passed when the release is skipped, and does
 * not matter afterwards. */
static void init_long_deadline_skip(void)
{
    run_worker(&(struct worker){.attributes = {.deadline = 250}, .durations = {220, 140, 10, 10}});
    CHECK_NOTES("1000@1000 1200@1220 1300@1360 1400@1400");
    check_counts(5, 4, 0, 1);
    check_worst(220, 60);
}

static void init_long_deadline_each(void)
{
    run_worker(&(struct worker){.attributes = {.deadline = 250, .catch_up = PERIODIC_RUN_EACH},
                                .durations = {260, 80, 80, 10}});
    CHECK_NOTES("1000@1000 !1250 1100@1260 1200@1340 1300@1420");
    check_counts(5, 4, 1, 0);
}

static void test_deadline_beyond_the_period(void **state)
{
    (void)state;
    kernel_run(init_long_deadline_skip);
    kernel_run(init_long_deadline_each);
}

/* A more urgent thread runs until `time`. */
static void starve_until(uint64_t time)
{
    CHECK_EQUAL(thread_set_priority(thread_current(), 50), RESULT_OK);
    host_clock_advance(time - time_now());
    CHECK_EQUAL(thread_set_priority(thread_current(), INIT_PRIORITY), RESULT_OK);
}

/* The thread does not get the processor: the hook is called although no job begins. */
static void init_starved_skip(void)
{
    struct thread *thread = start_worker(&(struct worker){.durations = {10, 10}});

    starve_until(1250);
    CHECK_NOTES("!1100 !1200 1200@1250");
    finish(thread);
    CHECK_NOTES("1300@1300");
    check_counts(4, 2, 2, 2);
    check_worst(60, 50);
}

/* Interrupts are masked up to the time of a release, which is also the deadline of the one before.
 */
static void init_starved_masked(void)
{
    struct thread *thread = start_worker(&(struct worker){.durations = {10}});
    interrupt_state state = interrupts_save();

    host_clock_advance(1300);
    interrupts_restore(state);
    CHECK_NOTES("!1300 1300@1300");
    finish(thread);
    check_counts(4, 1, 3, 3);
    CHECK_EQUAL(worker.hook_calls, 1);
}

static void init_starved_each(void)
{
    struct thread *thread = start_worker(
        &(struct worker){.attributes = {.catch_up = PERIODIC_RUN_EACH}, .durations = {10, 10, 10}});

    starve_until(1250);
    CHECK_NOTES("!1100 !1200 1000@1250 1100@1260 1200@1270");
    finish(thread);
    check_counts(3, 3, 2, 0);
    check_worst(260, 250);
}

static void test_starved_thread(void **state)
{
    (void)state;
    kernel_run(init_starved_skip);
    kernel_run(init_starved_masked);
    kernel_run(init_starved_each);
}

/* Interrupts are masked while several deadlines pass: one call of the hook. */
static void init_masked(void)
{
    run_worker(&(struct worker){.durations = {350, 10}, .masked = true});
    CHECK_NOTES("1000@1000 !1350 1300@1350");
    check_counts(4, 2, 3, 2);
    CHECK_EQUAL(worker.hook_calls, 1);
}

static void note_masked_miss(struct periodic *periodic, void *argument)
{
    struct periodic_statistics statistics;

    (void)argument;
    CHECK(!interrupt_context());
    periodic_statistics(periodic, &statistics);
    note_time("misses:", statistics.misses);
}

/* The job completes before interrupts are unmasked. At the deadline it would be in time. */
static void init_completed_while_masked(void)
{
    const struct periodic_attributes attributes = {.period = PERIOD,
                                                   .first = FIRST,
                                                   .catch_up = PERIODIC_RUN_EACH,
                                                   .missed = note_masked_miss};
    struct periodic periodic;
    interrupt_state state;

    CHECK_EQUAL(periodic_start(&periodic, &attributes), RESULT_OK);
    CHECK_EQUAL(periodic_wait(&periodic), 1000);
    state = interrupts_save();
    host_clock_advance(100);
    CHECK_EQUAL(periodic_wait(&periodic), 1100);
    CHECK_NOTES("");
    host_clock_advance(101);
    CHECK_EQUAL(periodic_wait(&periodic), 1200);
    CHECK_NOTES("misses:1");
    interrupts_restore(state);
    CHECK_NOTES("");
    periodic_stop(&periodic);
    CHECK_EQUAL(own_deadline_misses(), 1);
}

/* The job completes at the deadline of the release after it, which is therefore skipped and a miss.
 */
static void init_skipped_while_masked(void)
{
    const struct periodic_attributes attributes = {
        .period = PERIOD, .first = FIRST, .missed = note_masked_miss};
    struct periodic periodic;
    interrupt_state state;

    CHECK_EQUAL(periodic_start(&periodic, &attributes), RESULT_OK);
    (void)periodic_wait(&periodic);
    state = interrupts_save();
    host_clock_advance(200);
    CHECK_EQUAL(periodic_wait(&periodic), 1200);
    CHECK_NOTES("misses:1 misses:2");
    interrupts_restore(state);
    periodic_stop(&periodic);
    CHECK_NOTES("");
}

static void test_masked_interrupts(void **state)
{
    (void)state;
    kernel_run(init_masked);
    kernel_run(init_completed_while_masked);
    kernel_run(init_skipped_while_masked);
}

static struct semaphore go;

static void never_complete(void *argument)
{
    (void)argument;
    CHECK_EQUAL(periodic_start(&worker.periodic, &worker.attributes), RESULT_OK);
    (void)periodic_wait(&worker.periodic);
    CHECK_EQUAL(semaphore_wait(&go, DEADLINE_NONE), RESULT_OK);
    /* The thread ends without periodic_stop(). */
}

static struct thread *start_stuck_thread(void)
{
    semaphore_init(&go, 0, 1);
    worker = (struct worker){
        .attributes = {.period = PERIOD, .first = FIRST, .missed = note_miss, .argument = &worker}};
    return start("worker", 40, never_complete, NULL);
}

static void init_terminated(void)
{
    struct thread *thread = start_stuck_thread();
    interrupt_state state;

    host_clock_advance(1050);
    state = interrupts_save();
    thread_terminate(thread);
    interrupts_restore(state);
    finish(thread);
    host_clock_advance(1000);
    CHECK_NOTES("");
}

static void init_never_complete(void)
{
    struct thread *thread = start_stuck_thread();

    host_clock_advance(1350);
    CHECK_NOTES("!1100 !1200 !1300");
    struct periodic_statistics statistics;

    periodic_statistics(&worker.periodic, &statistics);
    CHECK_EQUAL(statistics.releases, 4);
    CHECK_EQUAL(statistics.completions, 0);
    CHECK_EQUAL(statistics.misses, 3);
    CHECK_EQUAL(semaphore_post(&go), RESULT_OK);
    finish(thread);
    host_clock_advance(1000);
    CHECK_NOTES("");
    periodic_statistics(&worker.periodic, &statistics);
    CHECK_EQUAL(statistics.releases, 4);
    CHECK_EQUAL(statistics.completions, 1); /* the thread's end completes the job */
    memset(&worker, 0xee, sizeof worker);
    host_clock_advance(1000);
}

static void test_thread_that_never_completes(void **state)
{
    (void)state;
    kernel_run(init_never_complete);
    kernel_run(init_terminated);
}

static void init_start_and_stop(void)
{
    struct periodic_attributes attributes = {.period = 0};
    struct periodic first;
    struct periodic second;
    uint64_t ticks;

    CHECK_EQUAL(periodic_start(&first, &attributes), RESULT_INVALID);
    attributes.period = PERIOD;
    host_clock_advance(30);
    CHECK_EQUAL(periodic_start(&first, &attributes), RESULT_OK);
    CHECK_EQUAL(periodic_start(&second, &attributes), RESULT_BUSY);
    CHECK_EQUAL(periodic_wait(&first), 130); /* the default: one period after the start */
    periodic_stop(&first);
    CHECK(!host_clock_alarm(&ticks));
    CHECK_EQUAL(periodic_start(&second, &attributes), RESULT_OK);
    CHECK_EQUAL(periodic_wait(&second), 230);
    /* Deadlines beyond the end of time are never missed. */
    periodic_stop(&second);
    attributes.deadline = UINT64_MAX;
    CHECK_EQUAL(periodic_start(&second, &attributes), RESULT_OK);
    for (unsigned i = 0; i < 3; i++) {
        (void)periodic_wait(&second);
        host_clock_advance(1000);
    }
    CHECK_EQUAL(own_deadline_misses(), 0);
    periodic_stop(&second);
}

static struct periodic foreign;

static void become_periodic(void *argument)
{
    const struct periodic_attributes attributes = {.period = PERIOD};

    (void)argument;
    CHECK_EQUAL(periodic_start(&foreign, &attributes), RESULT_OK);
    thread_sleep_until(DEADLINE_NONE);
}

static void init_foreign_wait(void)
{
    (void)start("foreign", 40, become_periodic, NULL);
    (void)periodic_wait(&foreign);
}

static void init_wait_after_stop(void)
{
    const struct periodic_attributes attributes = {.period = PERIOD};

    CHECK_EQUAL(periodic_start(&foreign, &attributes), RESULT_OK);
    periodic_stop(&foreign);
    (void)periodic_wait(&foreign);
}

static void test_start_and_stop(void **state)
{
    (void)state;
    kernel_run(init_start_and_stop);
    kernel_panics(init_foreign_wait, "periodic");
    kernel_panics(init_wait_after_stop, "periodic");
}

static void pass_250(void *argument)
{
    (void)argument;
    host_clock_advance(250);
}

static void count_miss(struct periodic *periodic, void *argument)
{
    (void)periodic;
    *(unsigned *)argument += 1;
}

/* An interrupt lasts for two and a half periods, at any point. */
static void sweep(enum periodic_catch_up catch_up)
{
    unsigned hook_calls = 0;
    const struct periodic_attributes attributes = {.period = PERIOD,
                                                   .first = FIRST,
                                                   .catch_up = catch_up,
                                                   .missed = count_miss,
                                                   .argument = &hook_calls};
    struct periodic_statistics statistics;
    struct periodic periodic;

    CHECK_EQUAL(periodic_start(&periodic, &attributes), RESULT_OK);
    sweep_interrupt(pass_250, NULL);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t release = periodic_wait(&periodic);

        CHECK_EQUAL(release % PERIOD, 0);
        CHECK(time_now() >= release);
        host_clock_advance(10);
    }
    periodic_stop(&periodic);
    periodic_statistics(&periodic, &statistics);
    CHECK_EQUAL(statistics.completions, 4);
    CHECK_EQUAL(statistics.misses, own_deadline_misses());
    CHECK(hook_calls <= statistics.misses);
    CHECK_EQUAL(hook_calls != 0, statistics.misses != 0);
    if (catch_up == PERIODIC_SKIP_MISSED) {
        /* Releases may pass after the last wait. */
        CHECK(statistics.releases >= 4 + statistics.skipped);
        CHECK(statistics.releases <= 6 + statistics.skipped);
        CHECK(statistics.misses >= statistics.skipped && statistics.misses <= 2);
    } else {
        CHECK_EQUAL(statistics.skipped, 0);
        CHECK(statistics.misses <= 2);
    }
}

static void init_sweep_skip(void)
{
    sweep(PERIODIC_SKIP_MISSED);
}

static void init_sweep_each(void)
{
    sweep(PERIODIC_RUN_EACH);
}

static void test_interrupts_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_sweep_skip, 10);
    kernel_sweep(init_sweep_each, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_time),
        cmocka_unit_test(test_catching_up),
        cmocka_unit_test(test_deadline_beyond_the_period),
        cmocka_unit_test(test_starved_thread),
        cmocka_unit_test(test_masked_interrupts),
        cmocka_unit_test(test_thread_that_never_completes),
        cmocka_unit_test(test_start_and_stop),
        cmocka_unit_test(test_interrupts_at_every_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
