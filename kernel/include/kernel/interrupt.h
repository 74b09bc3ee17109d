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

struct thread;

/* Called in interrupt context with the argument given to interrupt_attach(). */
typedef void (*interrupt_handler)(void *argument);

enum interrupt_trigger { INTERRUPT_LEVEL, INTERRUPT_EDGE };

/* Attaches a handler. Several handlers may share a level-triggered interrupt (PCI INTx); all of
 * them are called. Attaching the first handler clears the pending state and enables the interrupt.
 * Returns RESULT_INVALID (no such number), RESULT_NO_MEMORY, RESULT_BUSY (an edge-triggered
 * interrupt has a handler already). Thread context. */
enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument);

/* Detaches a handler. Detaching the last one disables the interrupt. Returns RESULT_NOT_FOUND if
 * the handler is not attached with this argument. Thread context. */
enum result interrupt_detach(uint32_t number, interrupt_handler function, void *argument);

/* Makes an attached interrupt pending, as its device would. Returns RESULT_NOT_FOUND if it has no
 * handler. Any context. */
enum result interrupt_raise(uint32_t number);

/* Masks and unmasks an attached interrupt, for all its handlers. An interrupt that becomes pending
 * while masked is signalled after interrupt_unmask(). Attaching the first handler unmasks. Both
 * calls mask all interrupts of the core for at most 300 accesses to the controller's registers. A
 * message-signalled interrupt needs a command to the controller; a controller that takes longer
 * than that may signal it once more. Returns RESULT_NOT_FOUND if it has no handler. Any context. */
enum result interrupt_mask(uint32_t number);
enum result interrupt_unmask(uint32_t number);

/*
 * Deferrable interrupts are those whose handler only wakes one thread, the server. While a thread
 * runs that is more urgent than the server would be, they stay pending and take no time from it.
 * When both are pending, a timer is handled first; an interrupt that comes within 1.4 us before a
 * timer waits for it.
 *
 * Makes an attached interrupt deferrable, until its last handler is detached. Returns
 * RESULT_NOT_FOUND if it has no handler, RESULT_BUSY if it has several; if another handler is
 * attached later, the interrupt is not deferrable any more. Any context.
 */
enum result interrupt_set_deferrable(uint32_t number);

/* Names the server, which must not end. NULL: there is none, and no interrupt is deferred. Thread
 * context. */
void interrupt_set_server(struct thread *server);

/* If a timer is due within 1.4 us and there is a server, waits until it is due. The server calls
 * this before it masks interrupts for some hundred instructions, to block for example. Thread
 * context, interrupts enabled. */
void interrupt_await_timer(void);

/* Returns true in an interrupt handler or timer callback. Any context. */
bool interrupt_context(void);

/* Starts the interrupt controller that the devicetree names. Called once at boot, when memory and
 * the MMU work. Results: interrupt/controller.h. */
enum result interrupt_init(void);

/* Handles pending interrupts until none is left, at most 32; further ones raise the exception
 * again. Called once per exception, on the interrupt stack, interrupts masked. */
void interrupt_dispatch(void);

struct interrupt_statistics {
    uint64_t handled;     /* interrupts that had a handler */
    uint64_t unknown;     /* interrupts without a handler, which are then disabled */
    uint64_t spurious;    /* exceptions without a pending interrupt */
    size_t message_bytes; /* memory of message-signalled interrupts: tables and queue */
};

void interrupt_statistics(struct interrupt_statistics *statistics);

/* The write with which a device raises a message-signalled interrupt. */
struct interrupt_message {
    uint64_t address;
    uint32_t data;
};

/* Returns true if the devicetree node is the controller that the calls below drive. Thread context.
 */
bool interrupt_message_controller(int node);

/* Announces the highest device id. The first allocation sizes the controller's tables for it;
 * higher ids are refused afterwards. Optional. Returns RESULT_UNSUPPORTED if this machine has no
 * message-signalled interrupts. Thread context. */
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
 * A thread must not block or end inside a critical section. Calls that would do so panic there:
 * thread_join(), thread_sleep_until(), thread_exit(), those of kernel/sync.h without DEADLINE_POLL,
 * console_read(), and functions that use these. A critical section delays every interrupt, so it
 * should have at most a few hundred instructions.
 */
typedef uint64_t interrupt_state;
interrupt_state interrupts_save(void);
void interrupts_restore(interrupt_state state);

#endif
