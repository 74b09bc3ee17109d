/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts by number (GIC INTID: 16..31 private, 32..1019 shared, 8192.. message-signalled).
 * Handlers run with interrupts masked on the interrupt stack; the controller's priority drop and
 * deactivation happen after the handler. Handlers must be short and must not block.
 */
#ifndef KERNEL_INTERRUPT_H
#define KERNEL_INTERRUPT_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*interrupt_handler)(void *argument);

enum interrupt_trigger { INTERRUPT_LEVEL, INTERRUPT_EDGE };

/* Attaches a handler; several handlers may share a level-triggered interrupt (PCI INTx) and are all
 * called. The interrupt is enabled with its first handler, and what was pending before is
 * forgotten. Thread context.
 * RESULT_INVALID (number), RESULT_NO_MEMORY, RESULT_BUSY (an edge interrupt has a handler). */
enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument);

/* Detaches; the interrupt is disabled with its last handler. RESULT_NOT_FOUND. */
enum result interrupt_detach(uint32_t number, interrupt_handler function, void *argument);

/* Makes an attached interrupt pending by software, as its device would. Any context.
 * RESULT_NOT_FOUND (nothing is attached). */
enum result interrupt_raise(uint32_t number);

/* Keeps an attached interrupt from being signalled, and lets it through again: what came meanwhile
 * comes then. For all its handlers; attaching the first lets it through. Interrupts are masked
 * meanwhile, for at most 300 accesses to the controller's registers: a message-signalled interrupt
 * takes a command to the controller, and one that takes longer to carry it out may signal the
 * interrupt once more. Any context. RESULT_NOT_FOUND (nothing is attached). */
enum result interrupt_mask(uint32_t number);
enum result interrupt_unmask(uint32_t number);

/* True in a handler. Any context. */
bool interrupt_context(void);

/* Starts the interrupt controller of the devicetree. Boot, once; memory and the MMU work. Results:
 * interrupt/controller.h. */
enum result interrupt_init(void);

/* Handles what is pending: the vector code calls it on the interrupt stack, interrupts masked, once
 * per exception. Returns when nothing is pending, or after a bounded number of interrupts (the rest
 * raises the exception again). */
void interrupt_dispatch(void);

struct interrupt_statistics {
    uint64_t handled;     /* interrupts that had a handler */
    uint64_t unknown;     /* interrupts without one: disabled at the first */
    uint64_t spurious;    /* exceptions with nothing pending */
    size_t message_bytes; /* memory of message-signalled interrupts: tables and queue */
};

void interrupt_statistics(struct interrupt_statistics *statistics);

/* What a device writes to raise a message-signalled interrupt. */
struct interrupt_message {
    uint64_t address;
    uint32_t data;
};

/* True if the devicetree node is the controller that the calls below drive. Thread context. */
bool interrupt_message_controller(int node);

/* Device ids up to this one will come: tables are sized for it at the first allocation, and a
 * higher one is refused afterwards. Optional. Thread context. RESULT_UNSUPPORTED (no
 * message-signalled interrupts on this machine). */
enum result interrupt_message_prepare(uint32_t highest_device_id);

/* Routes event `event` of the device `device_id` (PCI: the requester id as the `msi-map` translates
 * it) to an interrupt number, edge-triggered; the same pair gets the same number again. Thread
 * context. RESULT_UNSUPPORTED (no message-signalled interrupts on this machine), RESULT_INVALID
 * (device id above the prepared ones, event above INTERRUPT_MESSAGE_EVENTS - 1), RESULT_NO_MEMORY
 * (also: all numbers are taken), RESULT_TIMED_OUT (the controller does not answer). */
#define INTERRUPT_MESSAGE_EVENTS 32u
enum result interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                       struct interrupt_message *message);

/*
 * A critical section: interrupts_save() masks interrupts of this core and returns the state before,
 * interrupts_restore() returns to that state. Sections nest. Any context.
 *
 * A thread must not block, nor end, inside a critical section: calls that would (thread_join(),
 * thread_sleep_until(), thread_exit(), those of kernel/sync.h without DEADLINE_POLL,
 * console_read(), and what is built on them) panic there. A critical section delays every
 * interrupt: keep it to a few hundred instructions.
 */
typedef uint64_t interrupt_state;
interrupt_state interrupts_save(void);
void interrupts_restore(interrupt_state state);

#endif
