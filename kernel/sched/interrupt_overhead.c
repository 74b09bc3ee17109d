/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/interrupt_overhead.h"

#include "kernel/interrupt.h"
#include "sched/alarm.h"
#include "sched/core.h"
#include <arch/cpu.h>

/* The smallest of several measurements counts. A larger one includes another interrupt or another
 * thread. */
#define MEASUREMENTS 8u

/* This part of the measurement is added to it, because a switch to another thread and back takes
 * more instructions. The overhead should be too high rather than too low: it is not charged to the
 * interrupted thread, and time that is not charged delays others by some instructions, while too
 * high a charge keeps the thread below its guarantee. */
#define MARGIN_PART 4u

/* Lets the alarm interrupt this thread. Returns the time that neither the thread nor the kernel has
 * seen. */
static uint64_t measure_once(struct core *core)
{
    interrupt_state state = interrupts_save();
    uint64_t before;
    uint64_t after;

    core->decision_at = 0;
    alarm_set(core);
    before = arch_clock_ticks();
    interrupts_restore(state); /* the interrupt is taken here */
    after = arch_clock_ticks();
    return core->interrupt_began - before + after - core->vcpu_report.accounted_until;
}

void interrupt_overhead_measure(void)
{
    struct core *core = core_this();
    uint64_t least = UINT64_MAX;

    if (core->interrupt_overhead_is_known) {
        return;
    }
    for (unsigned i = 0; i < MEASUREMENTS; i++) {
        uint64_t ticks = measure_once(core);

        least = ticks < least ? ticks : least;
    }
    core->interrupt_overhead = least + (least + MARGIN_PART - 1) / MARGIN_PART;
    core->interrupt_overhead_is_known = true;
}
