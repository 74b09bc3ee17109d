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
#define MARGIN_PART 3u

/* The end of a budget and its return are two such interrupts, each with a change to the VCPU and a
 * switch besides, which together take about as long as a third one. */
#define INTERRUPTS_AN_END 3u

struct measurement {
    uint64_t overhead; /* ticks of the interrupt that neither the thread nor the kernel has seen */
    uint64_t whole;    /* ticks of the whole interrupt */
    uint64_t setting;  /* ticks for which the alarm is set, a part of both others */
};

/* Returns the time before the alarm is set to `decision_at`. */
static uint64_t set_alarm_at(struct core *core, uint64_t decision_at)
{
    uint64_t before = arch_clock_ticks();

    core->decision_at = decision_at;
    alarm_set(core);
    return before;
}

/* Lets the alarm interrupt this thread. A hypervisor may take the interrupt as soon as the alarm is
 * set, to pass it on, so the measurement begins before that. */
static struct measurement measure_once(struct core *core)
{
    interrupt_state state = interrupts_save();
    uint64_t setting = set_alarm_at(core, POLICY_NEVER);
    uint64_t before, after;

    setting = arch_clock_ticks() - setting;
    before = set_alarm_at(core, 0);
    interrupts_restore(state); /* the interrupt is taken here */
    after = arch_clock_ticks();
    return (struct measurement){
        .overhead = core->interrupt_began - before + after - core->ledger.charged,
        .whole = after - before,
        .setting = setting,
    };
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

void interrupt_overhead_measure(void)
{
    struct core *core = core_this();
    struct measurement least = {.overhead = UINT64_MAX, .whole = UINT64_MAX, .setting = UINT64_MAX};

    if (core->interrupt_overhead_is_known) {
        return;
    }
    for (unsigned i = 0; i < MEASUREMENTS; i++) {
        struct measurement each = measure_once(core);

        least.overhead = smaller(each.overhead, least.overhead);
        least.whole = smaller(each.whole, least.whole);
        least.setting = smaller(each.setting, least.setting);
    }
    least.overhead -= smaller(least.setting, least.overhead);
    least.whole -= smaller(least.setting, least.whole);
    core->ledger.overhead = least.overhead + (least.overhead + MARGIN_PART - 1) / MARGIN_PART;
    core->policy.end_cost = INTERRUPTS_AN_END * least.whole;
    core->interrupt_overhead_is_known = true;
}
