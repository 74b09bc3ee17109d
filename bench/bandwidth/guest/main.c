/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench bandwidth. It executes all the time, and counts its instructions
 * between two gaps, in which the hypervisor has parked it: those of a window. A core that is not
 * limited has no gaps.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/instructions.h>
#include <arch/machine.h>

#define WINDOWS_MAX 4096u
#define SKIPPED     5u /* windows at the beginning, in which the console still sends */
#define QUIET       (10 * NANOSECONDS_PER_MILLISECOND)
/* No interrupt of this guest takes as long, and a park takes longer. */
#define GAP   (20 * NANOSECONDS_PER_MICROSECOND)
#define BATCH 20u /* lines that the console has room for */

static uint32_t windows[WINDOWS_MAX];

/* Counts the instructions of `count` windows, which begin and end with gaps. */
static void measure(uint32_t count)
{
    uint32_t before = arch_instructions(), now;
    uint64_t last = time_now(), time;
    uint32_t found = 0;

    while (found < count + SKIPPED) {
        time = time_now();
        if (time - last > GAP) {
            now = arch_instructions();
            if (found >= SKIPPED) {
                windows[found - SKIPPED] = now - before;
            }
            before = now;
            found++;
        }
        last = time;
    }
}

static void report(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        print("stream: %u\n", windows[i]);
        if (i % BATCH == 0) {
            thread_sleep_until(time_after(QUIET));
        }
    }
    print("stream: end\n");
}

int application_main(void)
{
    uint32_t count = (uint32_t)boot_argument_number("windows", 200, 1, WINDOWS_MAX);

    if (!arch_instructions_start()) {
        print("FAIL: stream: the machine counts no instructions\n");
        return 1;
    }
    thread_sleep_until(time_after(QUIET));
    measure(count);
    report(count);
    for (;;) {
        thread_sleep_until(time_after(NANOSECONDS_PER_SECOND));
    }
}
