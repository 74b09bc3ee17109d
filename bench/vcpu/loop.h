/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The real-time loop of ./bulkhead bench vcpu, the same on each system: a thread sleeps until
 * absolute times, measures how late it runs, and then works. Each system defines the four functions
 * below as static functions, and includes loop.h afterwards.
 *
 *   static uint64_t loop_now(void);                 nanoseconds of a monotonic clock
 *   static void loop_sleep_until(uint64_t time);
 *   static void loop_print(...)                     as printf()
 */
#ifndef VCPU_LOOP_H
#define VCPU_LOOP_H

#include "work.h"
#include <stdint.h>

#define LOOP_WORK     UINT32_C(500000) /* turns: 1 ms in the bench's machine */
#define LOOP_DEADLINE (10 * WORK_MILLISECOND)
/* The period is a little longer than the deadline, so that the wake-ups move along the periods of
 * other activities, such as a kernel's tick, and meet each of their phases. */
#ifndef LOOP_PERIOD
#define LOOP_PERIOD (LOOP_DEADLINE + UINT64_C(13000))
#endif
#define LOOP_WARM_UP 10u /* first periods, which do not count */

struct loop_result {
    uint64_t late_min; /* nanoseconds from the intended wake-up to the thread's first instruction */
    uint64_t late_sum;
    uint64_t late_max;
    uint32_t periods;
    uint32_t missed; /* periods whose work ended after their deadline */
};

/* `wake_up`: time of the first wake-up. */
static void loop_run(uint64_t wake_up, uint32_t periods, struct loop_result *result)
{
    *result = (struct loop_result){.late_min = UINT64_MAX};
    for (uint32_t period = 0; period < LOOP_WARM_UP + periods; period++, wake_up += LOOP_PERIOD) {
        uint64_t late;

        loop_sleep_until(wake_up);
        late = loop_now() - wake_up;
        work(LOOP_WORK);
        if (period < LOOP_WARM_UP) {
            continue;
        }
        result->periods++;
        result->late_sum += late;
        result->late_min = late < result->late_min ? late : result->late_min;
        result->late_max = late > result->late_max ? late : result->late_max;
        result->missed += loop_now() > wake_up + LOOP_DEADLINE;
    }
}

/* Prints the line that the bench parses. `frames`: received by the network card meanwhile. */
static void loop_report(const char *name, const struct loop_result *result, uint64_t frames)
{
    loop_print("vcpu: loop %s %u periods late %llu %llu %llu missed %u frames %llu\n", name,
               result->periods, (unsigned long long)result->late_min,
               (unsigned long long)(result->late_sum / result->periods),
               (unsigned long long)result->late_max, result->missed, (unsigned long long)frames);
}

#endif
