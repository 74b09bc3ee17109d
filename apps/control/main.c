/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control loop: woken once in each `period` (nanoseconds), for ever. Every `report` seconds it
 * says how many periods it has missed and by how much it was late at worst; 0 keeps it silent.
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

/* Of all periods, and the worst of those since the report before. */
static void report(struct periods *periods, uint64_t *worst)
{
    *worst = periods->worst > *worst ? periods->worst : *worst;
    print("control: %lu periods, %lu missed, worst %lu ns late, lately %lu ns\n",
          (unsigned long)periods->count, (unsigned long)periods->missed, (unsigned long)*worst,
          (unsigned long)periods->worst);
    periods->worst = 0;
}

int application_main(void)
{
    uint64_t length = boot_argument_number("period", PERIOD, PERIOD_MIN, PERIOD_MAX);
    uint64_t seconds = boot_argument_number("report", REPORT_SECONDS, 0, 3600);
    uint64_t per_report = seconds * NANOSECONDS_PER_SECOND / length;
    uint64_t worst = 0;
    struct periods periods;

    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    print("control: a period of %lu ns\n", (unsigned long)length);
    periods_begin(&periods, length);
    for (;;) {
        periods_wait(&periods); /* then a real one would read its sensors and set its actuators */
        if (per_report != 0 && periods.count % per_report == 0) {
            report(&periods, &worst);
        }
    }
}
