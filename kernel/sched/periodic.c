/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Periodic threads. A timer watches one deadline: that of the earliest release whose job is not
 * complete and has not missed it yet. A job that is complete in time moves the timer to the next
 * deadline, so that it never expires while the thread keeps up.
 */
#include "kernel/periodic.h"

#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "kernel/thread.h"
#include "sched/core.h"
#include "sched/periodic_private.h"
#include "sched/policy.h"
#include "sched/thread_private.h"
#include "sched/thread_trace.h"

static uint64_t add_saturated(uint64_t time, uint64_t duration)
{
    uint64_t sum;

    return __builtin_add_overflow(time, duration, &sum) ? UINT64_MAX : sum;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Returns the number of times `at`, `at` + `period` ... that are not after `until`. */
static uint64_t count_until(uint64_t at, uint64_t period, uint64_t until)
{
    return until < at ? 0 : (until - at) / period + 1;
}

/* Counts the deadlines up to `until` that have not been counted. Interrupts masked. */
static void count_misses(struct periodic *periodic, uint64_t until)
{
    uint64_t period = periodic->attributes.period;
    uint64_t passed = count_until(periodic->next_deadline, period, until);

    if (passed == 0) {
        return;
    }
    periodic->misses += passed;
    periodic->next_deadline = add_saturated(periodic->next_deadline, passed * period);
    for (uint64_t i = 0; i < passed; i++) {
        periodic->thread->deadline_misses++;
        policy_count_miss(periodic->thread);
        trace_deadline_missed(periodic->thread);
    }
    if (periodic->attributes.missed != NULL) {
        periodic->attributes.missed(periodic, periodic->attributes.argument);
    }
}

static void deadline_passed(struct timer *timer, void *argument)
{
    struct periodic *periodic = argument;

    count_misses(periodic, time_now());
    timer_arm(timer, periodic->next_deadline);
}

/* Withdraws the deadlines of releases before `release`, which have a complete job or none.
 * Interrupts masked. */
static void watch_from(struct periodic *periodic, uint64_t release)
{
    uint64_t deadline = add_saturated(release, periodic->attributes.deadline);

    if (deadline > periodic->next_deadline) {
        periodic->next_deadline = deadline;
        timer_arm(&periodic->watch, deadline);
    }
}

/* Ends the job that runs. A job that is complete at its deadline, to the nanosecond, is in time.
 * Interrupts masked. */
static void complete_job(struct periodic *periodic)
{
    uint64_t now = time_now();

    count_misses(periodic, now - 1);
    periodic->completions++;
    periodic->worst_response = larger(periodic->worst_response, now - periodic->release);
    periodic->release = add_saturated(periodic->release, periodic->attributes.period);
    periodic->job_runs = false;
    watch_from(periodic, periodic->release);
}

/* Interrupts masked. */
static void begin_job(struct periodic *periodic)
{
    uint64_t period = periodic->attributes.period;
    uint64_t now = time_now();

    if (periodic->attributes.catch_up == PERIODIC_SKIP_MISSED) {
        uint64_t skipped = (now - periodic->release) / period;

        count_misses(periodic, now);
        periodic->skipped += skipped;
        periodic->release += skipped * period;
        watch_from(periodic, periodic->release);
    }
    periodic->job_runs = true;
    periodic->worst_lateness = larger(periodic->worst_lateness, now - periodic->release);
}

enum result periodic_start(struct periodic *periodic, const struct periodic_attributes *attributes)
{
    struct thread *thread = thread_current();
    interrupt_state state;

    if (attributes->period == 0) {
        return RESULT_INVALID;
    }
    if (thread->periodic != NULL) {
        return RESULT_BUSY;
    }
    *periodic = (struct periodic){.thread = thread, .attributes = *attributes};
    if (attributes->deadline == 0) {
        periodic->attributes.deadline = attributes->period;
    }
    periodic->release = attributes->first == 0 ? time_after(attributes->period) : attributes->first;
    periodic->attributes.first = periodic->release;
    periodic->next_deadline = add_saturated(periodic->release, periodic->attributes.deadline);
    timer_init(&periodic->watch, deadline_passed, periodic);
    state = interrupts_save();
    thread->periodic = periodic;
    timer_arm(&periodic->watch, periodic->next_deadline);
    interrupts_restore(state);
    return RESULT_OK;
}

static void require_own(const struct periodic *periodic)
{
    if (periodic->thread == NULL || periodic->thread != thread_current() || interrupt_context()) {
        panic("a call for a periodic thread was not made by that thread");
    }
}

uint64_t periodic_wait(struct periodic *periodic)
{
    interrupt_state state;

    require_own(periodic);
    state = interrupts_save();
    if (periodic->job_runs) {
        complete_job(periodic);
    }
    interrupts_restore(state);
    if (time_now() < periodic->release) {
        thread_sleep_until(periodic->release);
    }
    state = interrupts_save();
    begin_job(periodic);
    interrupts_restore(state);
    return periodic->release;
}

void periodic_end(struct thread *thread)
{
    struct periodic *periodic = thread->periodic;

    if (periodic == NULL) {
        return;
    }
    if (periodic->job_runs) {
        complete_job(periodic);
    }
    periodic->releases =
        count_until(periodic->attributes.first, periodic->attributes.period, time_now());
    (void)timer_cancel(&periodic->watch);
    periodic->thread = NULL;
    thread->periodic = NULL;
}

void periodic_stop(struct periodic *periodic)
{
    interrupt_state state;

    require_own(periodic);
    state = interrupts_save();
    periodic_end(periodic->thread);
    interrupts_restore(state);
}

void periodic_statistics(const struct periodic *periodic, struct periodic_statistics *statistics)
{
    interrupt_state state = interrupts_save();

    *statistics = (struct periodic_statistics){
        .releases = periodic->thread == NULL ? periodic->releases
                                             : count_until(periodic->attributes.first,
                                                           periodic->attributes.period, time_now()),
        .completions = periodic->completions,
        .misses = periodic->misses,
        .skipped = periodic->skipped,
        .worst_response = periodic->worst_response,
        .worst_lateness = periodic->worst_lateness};
    interrupts_restore(state);
}
