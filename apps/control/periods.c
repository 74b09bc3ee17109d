/* SPDX-License-Identifier: BSD-2-Clause */
#include "periods.h"

#include "kernel/panic.h"
#include "kernel/thread.h"
#include "kernel/time.h"

/* Context switches and interrupts of a wait in which nothing else of this system runs: to the idle
 * thread and back; the alarm, and another one if the turn's deadline passes before the thread
 * continues. */
#define SWITCHES_ALONE   2u
#define INTERRUPTS_ALONE 1u

/* The system's state at a time. */
struct moment {
    uint64_t time;
    struct scheduler_statistics scheduler;
    struct periodic_statistics periodic;
};

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void read_moment(const struct periods *periods, struct moment *moment)
{
    moment->time = time_now();
    scheduler_statistics(&moment->scheduler);
    periodic_statistics(&periods->periodic, &moment->periodic);
}

void periods_begin(struct periods *periods, uint64_t length)
{
    const struct periodic_attributes attributes = {.period = length, .catch_up = PERIODIC_RUN_EACH};
    enum result result;

    *periods = (struct periods){.length = length};
    result = periodic_start(&periods->periodic, &attributes);
    if (result != RESULT_OK) {
        panic("periods: %s", result_text(result));
    }
}

/*
 * Returns the part of `late` that this system did not cause, after a wait. That is all of it if
 * nothing else ran meanwhile. Otherwise this system's own work can't have delayed the turn by more
 * than the time that the processor was awake.
 */
static uint64_t time_not_run(const struct moment *before, const struct moment *after, uint64_t late)
{
    uint64_t waited = after->time - before->time;
    uint64_t interrupts_alone =
        INTERRUPTS_ALONE + (after->periodic.misses != before->periodic.misses ? 1 : 0);
    uint64_t idle;
    uint64_t busy;

    if (after->scheduler.context_switches - before->scheduler.context_switches <= SWITCHES_ALONE &&
        after->scheduler.interrupts - before->scheduler.interrupts <= interrupts_alone) {
        return late;
    }
    idle = smaller(after->scheduler.idle_nanoseconds - before->scheduler.idle_nanoseconds, waited);
    busy = waited - idle;
    return idle != 0 && late > busy ? late - busy : 0;
}

void periods_wait(struct periods *periods)
{
    struct moment before;
    struct moment after;
    uint64_t due;
    uint64_t late;
    uint64_t own;

    read_moment(periods, &before);
    due = periodic_wait(&periods->periodic);
    read_moment(periods, &after);
    late = after.time - due;
    if (before.time < due) {
        periods->asleep = time_not_run(&before, &after, late);
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
