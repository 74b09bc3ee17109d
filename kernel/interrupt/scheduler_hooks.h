/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of the scheduler that the interrupt's entry and dispatch call; sched/scheduler.c
 * defines them. Interrupts stay masked from enter to exit.
 *
 *   save the interrupted thread's registers in its arch_context (the first member of struct thread:
 *       the pointer last given to arch_context_start(), arch_context_switch() or returned here)
 *   scheduler_interrupt_enter();
 *   acknowledge, run handlers on the interrupt stack, end the interrupt; before each further
 *       interrupt of the same exception, scheduler_interrupt_next();
 *   context = scheduler_interrupt_exit(interrupted);
 *   restore registers from `context` and return from the exception
 *
 * `context` may have been saved by arch_context_switch(), and arch_context_switch() may later
 * continue the context saved here. So the interrupt exit and arch_context_switch() must both be
 * able to continue both kinds of saved contexts.
 */
#ifndef INTERRUPT_SCHEDULER_HOOKS_H
#define INTERRUPT_SCHEDULER_HOOKS_H

#include <arch/cpu.h>
#include <stdint.h>

/* Returns the id of the VCPU of the running thread; 0: it has none. Thread context or boot. */
uint8_t scheduler_caller_vcpu(void);

/* Declares an attached interrupt as the clock's: scheduler_interrupt_pay() is not called for it. */
void interrupt_set_alarm(uint32_t number);

/* Counts the interrupt and charges the time so far to the interrupted thread. */
void scheduler_interrupt_enter(void);

/* The handlers of one interrupt have run, those of another follow. Charges the time of the former,
 * so that no VCPU pays for an interrupt that is not for its sake. */
void scheduler_interrupt_next(void);

/*
 * The handlers of a device's interrupt have run. If they woke a thread, its VCPU pays for the
 * interrupt, and `*payer` becomes its id; 0: it has none. If they woke none, the VCPU that paid for
 * this interrupt before pays again: `*payer`. Returns the time, in nanoseconds since boot, until
 * which the interrupt should stay masked, because its VCPU has no budget, and the interrupted
 * thread has; 0: no longer.
 */
uint64_t scheduler_interrupt_pay(uint8_t *payer);

/*
 * Charges the time since enter, or the last interrupt, to interrupts. Returns the context to
 * continue: `interrupted`, or that of a more urgent thread that a handler woke. If handlers nest,
 * only the outermost exit switches; inner ones return `interrupted` unread.
 */
struct arch_context *scheduler_interrupt_exit(struct arch_context *interrupted);

#endif
