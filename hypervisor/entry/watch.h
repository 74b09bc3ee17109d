/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A watch over the hypervisor's own SPIs, for systems in which each guest may shut its core against
 * them. A processor that executes the hypervisor anyway checks whether one of them stays pending on
 * another core. Then it routes the SPI to itself, or the SMMU's to the boot core of a partition
 * that may read the events (docs/decisions/0039).
 */
#ifndef ENTRY_WATCH_H
#define ENTRY_WATCH_H

#include "hypervisor/processor.h"
#include <stddef.h>

/* Checks the SPIs, unless the last check was less than a second ago. The processor is not shared.
 */
void watch_look_on_own_core(struct processor *processor);

/* Does the same on a processor that is not shared. On a shared one it has no effect: no guest can
 * shut it, and the SPIs are routed to such a core. */
static inline void watch_look(struct processor *processor)
{
    if (processor->shared == NULL) {
        watch_look_on_own_core(processor);
    }
}

/* Sets the processor's timer for the work that has its time: it ends the pauses of the hypervisor's
 * interrupts, one of which this processor may have begun (smmu_pause_events(), input_flow_pause()),
 * because no other processor need execute the hypervisor then, and looks whether the guests of its
 * VCPUs hang (watchdog_due()). */
void watch_set_timer(struct processor *processor);

/* Does the work that is due, and sets the timer for the next. */
void watch_do_due_work(struct processor *processor);

/* Handles the expiry of the timer of a processor that is not shared. */
void watch_handle_timer(struct processor *processor);

/* Called on a processor that halts. Routes the hypervisor's SPIs to other cores, repeats calls of
 * boot VCPUs that are unanswered, and ends the pauses of the interrupts, because this processor's
 * timer ends none any more. Once. */
void watch_leave(const struct processor *processor);

/* Limit a wait of the processor for an interrupt to a second, if no guest can execute on it
 * meanwhile. Called before and after the wait. */
void watch_begin_wait(const struct processor *processor);
void watch_end_wait(const struct processor *processor);

#endif
