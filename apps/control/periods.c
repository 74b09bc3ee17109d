/* SPDX-License-Identifier: BSD-2-Clause */
#include "periods.h"

#include "kernel/thread.h"
#include "kernel/time.h"

static uint64_t idle_nanoseconds(void)
{
    struct scheduler_statistics statistics;

    scheduler_statistics(&statistics);
    return statistics.idle_nanoseconds;
}

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
 * Returns for how much of `late` the processor slept. `busy` is how long it was awake while the
 * loop waited: this system's own work can't have delayed the turn by more.
 */
static uint64_t time_slept_on(uint64_t late, uint64_t idle, uint64_t busy)
{
    return idle != 0 && late > busy ? late - busy : 0;
}

void periods_wait(struct periods *periods)
{
    uint64_t began = time_now();
    uint64_t idle = idle_nanoseconds();
    uint64_t now;
    uint64_t late;
    uint64_t own;

    periods->due += periods->length;
    thread_sleep_until(periods->due);
    now = time_now();
    idle = smaller(idle_nanoseconds() - idle, now - began);
    late = now - periods->due;
    if (began < periods->due) {
        periods->asleep = time_slept_on(late, idle, now - began - idle);
    } else {
        /* It is late because the turns before it were, and for the same reason. */
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
