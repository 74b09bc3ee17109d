/* SPDX-License-Identifier: BSD-2-Clause */
/* The scheduler's part of the deferral of interrupts (interrupt/deferral.h). */
#include "interrupt/deferral.h"

#include "interrupt/controller.h"
#include "kernel/interrupt.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include "sched/urgency.h"
#include "time/clock.h"
#include <arch/cpu.h>

/* About the longest time from the entry of a deferrable interrupt to the end of the switch to its
 * server, on a core with 10^9 instructions a second. */
#define NEAR_NANOSECONDS 1400u

static void set_active(struct deferral *deferral, bool active)
{
    if (active != deferral->active) {
        deferral->active = active;
        arch_interrupt_defer(active);
    }
}

void deferral_choose(struct deferral *deferral, const struct thread *next)
{
    const struct thread *server = deferral->server;
    unsigned urgency = thread_urgency(next);

    /* In the background the server has its priority alone; usually this comparison is enough. */
    set_active(deferral, urgency > urgency_make(URGENCY_BACKGROUND, policy_priority(server)) &&
                             urgency > policy_wake_urgency(&core_this()->policy, server));
}

void deferral_choice_is_due(void)
{
    struct core *core = core_this();

    if (core->reschedule) {
        set_active(&core->deferral, true);
    }
}

void deferral_await_near_timer(void)
{
    const struct core *core = core_this();

    /* A timer that is already due is far in the future here. */
    if (core->timer_at - core->interrupt_began < core->deferral.near_ticks) {
        while (arch_clock_ticks() < core->timer_at) {
        }
    }
}

void interrupt_await_timer(void)
{
    const struct core *core = core_this();
    volatile const uint64_t *timer_at = &core->timer_at; /* the timer's interrupt changes it */

    while (*timer_at - arch_clock_ticks() < core->deferral.near_ticks) {
    }
}

void interrupt_set_server(struct thread *server)
{
    interrupt_state state = interrupts_save();
    struct core *core = core_this();

    core->deferral.server = server;
    core->deferral.near_ticks = server == NULL ? 0 : clock_ticks_up(NEAR_NANOSECONDS);
    core->timer_guard_at = deferral_guard_of(&core->deferral, core->timer_at);
    set_active(&core->deferral, false);
    core->reschedule = true; /* the choice of a thread ends in deferral_follow() */
    interrupts_restore(state);
}
