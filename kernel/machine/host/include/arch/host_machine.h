/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine inside a host process, for unit tests. It runs the kernel's own threads, and is
 * deterministic. Its time stands still until a test advances it, or until every thread is blocked:
 * it then jumps to the next alarm. Interrupts come when a test raises them.
 */
#ifndef ARCH_HOST_MACHINE_H
#define ARCH_HOST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_STATUS_PANIC    101 /* panic() was called */
#define HOST_STATUS_DEADLOCK 102 /* every thread is blocked, no alarm is set */

/*
 * Starts a new machine, with its counter at 0 and interrupts masked, and calls boot() on a stack of
 * its own; boot() may end with scheduler_start(). Returns the status of machine_exit(),
 * HOST_STATUS_PANIC or HOST_STATUS_DEADLOCK, or 0 if boot() returned. Frees all thread stacks.
 */
int host_machine_run(void (*boot)(void));

/* Returns the message of the last panic() of the running or last machine; an empty string if there
 * was none. */
const char *host_panic_message(void);

/* Raises an interrupt now, or as soon as interrupts are enabled. The handler runs between the
 * scheduler's hooks, and a more urgent thread that it wakes runs before this function returns. Up
 * to 16 may be pending. */
void host_interrupt(void (*handler)(void *argument), void *argument);

/* The same for an interrupt that arch_interrupt_defer() defers. */
void host_deferrable_interrupt(void (*handler)(void *argument), void *argument);

/*
 * Raises an interrupt later, at the `point`-th (from 0) place from now where this core could be
 * interrupted. These places are the beginnings and ends of critical sections. Code between two of
 * them touches nothing that an interrupt also touches, so the exact moment in between makes no
 * difference.
 */
void host_interrupt_at(unsigned point, void (*handler)(void *argument), void *argument);
/* Returns true if that interrupt has come; if it has not, cancels it. */
bool host_interrupt_happened(void);

/* Advances the time. Alarms on the way go off at their time. */
void host_clock_advance(uint64_t ticks);
/* Makes each reading of the clock take so many ticks, 0 at first, so that the kernel's own work
 * takes time. */
void host_clock_set_reading_ticks(uint64_t ticks);
/* Calls `around` around each reading of the clock, between which and the value read nothing
 * happens: before it with `has_read` false, after it with true. NULL, at first: calls nothing.
 * `around` may call host_clock_pass(). */
void host_clock_watch(void (*around)(bool has_read));
/* Lets time pass while the processor executes others. Alarms on the way go off later. */
void host_clock_pass(uint64_t ticks);
/* Sets the clock's frequency for machines started from now on; it is 1 GHz at first. */
void host_clock_set_frequency(uint64_t hertz);
/* Returns true if an alarm is set, and sets *ticks to its time. */
bool host_clock_alarm(uint64_t *ticks);

#endif
