/* SPDX-License-Identifier: BSD-2-Clause */
/* Critical sections: interrupts masked on this core, and preemption deferred to their end. */
#include "kernel/interrupt.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include <arch/cpu.h>

interrupt_state interrupts_save(void)
{
    return arch_interrupts_save();
}

/* Not inline, so that the usual end of a section saves no registers. */
__attribute__((noinline)) static void switch_and_restore(struct core *core, interrupt_state state)
{
    if (arch_interrupts_enabled_in(state) && core->interrupt_depth == 0 &&
        core->preemption_depth == 0 && core->current != NULL) {
        scheduler_switch();
    }
    arch_interrupts_restore(state);
}

/* Ends a critical section. If a more urgent thread was woken inside the outermost section, switches
 * to it here. */
void interrupts_restore(interrupt_state state)
{
    struct core *core = core_this();

    if (core->reschedule) {
        switch_and_restore(core, state);
    } else {
        arch_interrupts_restore(state);
    }
}

bool interrupt_context(void)
{
    return core_this()->interrupt_depth != 0;
}
