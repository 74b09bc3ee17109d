/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control loop that wakes once in each `period` (nanoseconds), for ever. Every `report` seconds
 * it prints the number of missed periods and the greatest lateness; with 0 it prints nothing. A
 * separate line counts the deadlines missed while the machine below did not run the processor, if
 * there are any: the host of an emulated machine causes them by running something else.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "periods.h"

#define PERIOD         NANOSECONDS_PER_MILLISECOND
#define PERIOD_MIN     (100 * NANOSECONDS_PER_MICROSECOND)
#define PERIOD_MAX     NANOSECONDS_PER_SECOND
#define REPORT_SECONDS 10u

/* Totals since the start, and their values at the last report. */
struct totals {
    uint64_t worst;
    uint64_t worst_asleep;
    uint64_t missed_asleep; /* at the last report */
};

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void report(struct periods *periods, struct totals *totals)
{
    totals->worst = larger(totals->worst, periods->worst);
    totals->worst_asleep = larger(totals->worst_asleep, periods->worst_asleep);
    print("control: %lu periods, %lu missed, worst %lu ns late, lately %lu ns\n",
          (unsigned long)periods->count, (unsigned long)periods->missed,
          (unsigned long)totals->worst, (unsigned long)periods->worst);
    if (periods->missed_asleep != totals->missed_asleep) {
        print("control: %lu %s missed while the host paused this virtual core (expected on a busy "
              "host), worst %lu ns late\n",
              (unsigned long)periods->missed_asleep,
              periods->missed_asleep == 1 ? "deadline" : "deadlines",
              (unsigned long)totals->worst_asleep);
        totals->missed_asleep = periods->missed_asleep;
    }
    periods->worst = 0;
    periods->worst_asleep = 0;
}

int application_main(void)
{
    uint64_t length = boot_argument_number("period", PERIOD, PERIOD_MIN, PERIOD_MAX);
    uint64_t seconds = boot_argument_number("report", REPORT_SECONDS, 0, 3600);
    uint64_t per_report = seconds * NANOSECONDS_PER_SECOND / length;
    struct totals totals = {0};
    struct periods periods;

    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    print("control: a period of %lu ns\n", (unsigned long)length);
    periods_begin(&periods, length);
    for (;;) {
        periods_wait(&periods); /* a real loop would now read its sensors and set its actuators */
        if (per_report != 0 && periods.count % per_report == 0) {
            report(&periods, &totals);
        }
    }
}
