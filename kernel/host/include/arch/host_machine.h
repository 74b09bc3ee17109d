/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine inside a host process, for unit tests: it runs the kernel's own threads, and everything
 * in it is deterministic. Time stands still unless a test advances it or every thread is blocked:
 * then it jumps to the next alarm. Interrupts come when a test says so.
 */
#ifndef ARCH_HOST_MACHINE_H
#define ARCH_HOST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_STATUS_PANIC    101 /* panic() was called */
#define HOST_STATUS_DEADLOCK 102 /* every thread is blocked, no alarm is set */

/*
 * Starts a new machine: counter at 0, interrupts masked; calls boot() on a stack of its own (which
 * may end with scheduler_start()). Returns the status of machine_exit(), HOST_STATUS_PANIC or
 * _DEADLOCK, or 0 if boot() returned. All thread stacks are freed.
 */
int host_machine_run(void (*boot)(void));

/* What the last panic() of the running or last machine said; empty if there was none. */
const char *host_panic_message(void);

/* An interrupt now, or as soon as interrupts are enabled: the handler runs between the
 * scheduler's hooks, and a more urgent thread that it wakes runs before this returns. Up to 16
 * may be pending. */
void host_interrupt(void (*handler)(void *argument), void *argument);

/*
 * The same at a later point: the `point`-th (from 0) place from now where this core could be
 * interrupted. These are the beginnings and ends of critical sections: what lies between two of
 * them touches nothing that an interrupt touches too, so that it makes no difference where in
 * between the interrupt comes.
 */
void host_interrupt_at(unsigned point, void (*handler)(void *argument), void *argument);
/* Whether that interrupt has come; if it has not, it is called off. */
bool host_interrupt_happened(void);

/* Lets time pass; alarms on the way go off at their moment. */
void host_clock_advance(uint64_t ticks);
/* For the machines started from now on; 1 GHz unless set. */
void host_clock_set_frequency(uint64_t hertz);
/* Whether an alarm is set, and for when. */
bool host_clock_alarm(uint64_t *ticks);

#endif
