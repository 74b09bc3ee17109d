/* SPDX-License-Identifier: BSD-2-Clause */
#include "periods.h"

#include "kernel/thread.h"
#include "kernel/time.h"

/* Context switches of a wait in which nothing else of this system runs: to the idle thread and
 * back, and the timer. */
#define SWITCHES_ALONE   2u
#define INTERRUPTS_ALONE 1u

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

void periods_begin(struct periods *periods, uint64_t length)
{
    *periods = (struct periods){.length = length, .due = time_now()};
}

/*
 * Returns the part of `late` that this system did not cause, after a wait of `waited` nanoseconds.
 * That is all of it if nothing else ran meanwhile. Otherwise this system's own work can't have
 * delayed the turn by more than the time that the processor was awake.
 */
static uint64_t time_not_run(const struct scheduler_statistics *before, uint64_t waited,
                             uint64_t late)
{
    struct scheduler_statistics after;
    uint64_t idle;
    uint64_t busy;

    scheduler_statistics(&after);
    if (after.context_switches - before->context_switches <= SWITCHES_ALONE &&
        after.interrupts - before->interrupts <= INTERRUPTS_ALONE) {
        return late;
    }
    idle = smaller(after.idle_nanoseconds - before->idle_nanoseconds, waited);
    busy = waited - idle;
    return idle != 0 && late > busy ? late - busy : 0;
}

void periods_wait(struct periods *periods)
{
    uint64_t began = time_now();
    struct scheduler_statistics before;
    uint64_t now;
    uint64_t late;
    uint64_t own;

    scheduler_statistics(&before);
    periods->due += periods->length;
    thread_sleep_until(periods->due);
    now = time_now();
    late = now - periods->due;
    if (began < periods->due) {
        periods->asleep = time_not_run(&before, now - began, late);
    } else {
        /* The turn is late because earlier turns were late, and for the same reason. */
        periods->asleep = smaller(periods->asleep, late);
    }
    own = late - periods->asleep;
    periods->count++;
    if (own >= periods->length) {
        periods->missed++;
    } else if (late >= periods->length) {
        periods->missed_asleep++;
    }
    periods->worst = larger(periods->worst, own);
    periods->worst_asleep = larger(periods->worst_asleep, periods->asleep);
}
