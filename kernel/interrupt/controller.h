/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of kernel/interrupt to the interrupt controller: GICv3 in kernel/machine/arm64/gic,
 * a model in unit tests. Numbers are INTIDs as in kernel/interrupt.h. Unless said otherwise a call
 * is made with this core's interrupts masked, and takes at most 300 register accesses: every wait
 * for the controller has a bound.
 */
#ifndef INTERRUPT_CONTROLLER_H
#define INTERRUPT_CONTROLLER_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result of arch_interrupt_acknowledge() if no interrupt is pending. */
#define ARCH_INTERRUPT_NONE UINT32_MAX

/* Finds the controller in the devicetree and starts this core's part of it, with all private
 * interrupts disabled. Called once, at boot. Returns RESULT_OK, RESULT_NOT_FOUND (no such
 * controller), RESULT_INVALID (malformed description), RESULT_UNSUPPORTED, RESULT_NO_MEMORY (no
 * room to map it). */
enum result arch_interrupt_controller_init(void);

/* Returns true if the machine has the interrupt and a handler can be attached. */
bool arch_interrupt_exists(uint32_t number);

/* Prepares a disabled interrupt: sets group, priority and trigger, routes it to this core, and
 * clears its active and pending state. */
enum result arch_interrupt_configure(uint32_t number, enum interrupt_trigger trigger);
void arch_interrupt_enable(uint32_t number);
/* Disables an interrupt. After the return it is not signalled to this core any more, unless the
 * controller takes longer than the bound above; then it may be signalled once more. */
void arch_interrupt_disable(uint32_t number);
/* Makes a configured interrupt deferrable, or no longer deferrable. Of several pending interrupts,
 * those that can't be deferred are acknowledged first. */
void arch_interrupt_set_deferrable(uint32_t number, bool deferrable);
/* Starts or ends the deferral of the deferrable interrupts: while deferred they stay pending, and
 * are neither signalled nor acknowledged. */
void arch_interrupt_defer(bool defer);
/* Makes an interrupt pending, as its device would. */
void arch_interrupt_raise(uint32_t number);

/* Acknowledges the most urgent pending interrupt, which is active until arch_interrupt_end().
 * Returns its number, or ARCH_INTERRUPT_NONE. */
uint32_t arch_interrupt_acknowledge(void);
void arch_interrupt_end(uint32_t number);

/* The implementation of interrupt_message_*() of kernel/interrupt.h. Thread context, interrupts
 * enabled. */
bool arch_interrupt_message_controller(int node);
enum result arch_interrupt_message_prepare(uint32_t highest_device_id);
enum result arch_interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                            struct interrupt_message *message);
size_t arch_interrupt_message_bytes(void);

#endif
