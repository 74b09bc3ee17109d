/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much time an interrupt takes from the interrupted thread outside of the kernel's two readings
 * of the clock: before the first, at the interrupt's entry, and after the last, when the thread has
 * been chosen to continue. The thread is not charged for it, so that it receives the whole of its
 * budget.
 */
#ifndef SCHED_INTERRUPT_OVERHEAD_H
#define SCHED_INTERRUPT_OVERHEAD_H

/* Measures it at the first call, and sets the ledger's overhead. Thread context, interrupts
 * enabled. */
void interrupt_overhead_measure(void);

#endif
