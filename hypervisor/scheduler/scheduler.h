/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that several VCPUs share (docs/decisions/0030). Images without shared cores have absent.c
 * and boot_absent.c instead.
 *
 * Each VCPU has a monitor with a stack of its own. So a function that lets another VCPU execute
 * returns later, when the calling VCPU executes again. Values that the caller has read before may
 * have changed then.
 *
 * All functions are called on the VCPU's own processor, with interrupts masked.
 */
#ifndef SCHEDULER_SCHEDULER_H
#define SCHEDULER_SCHEDULER_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

struct processor;

/* Size of a shared core's trace, which follows the core's page (scheduler/trace.h). */
#define SCHEDULER_TRACE_BYTES UINT64_C(0x10000)

/* Allocates the state with which the VCPUs of a processor share it. No effect if the processor has
 * one VCPU. Boot, on the boot core. */
void scheduler_boot(struct processor *processor);

/* Initialises the scheduler of a shared core, when the monitor of its first VCPU starts. For the
 * monitors of its other VCPUs: begins their execution. Called once by each monitor. */
void scheduler_start(struct processor *processor);

/* Waits until an interrupt for the VCPU's guest is pending, or a message from another monitor has
 * arrived. May also return without such a reason. Other VCPUs of the processor execute
 * meanwhile. */
void scheduler_wait(struct vcpu *vcpu);

/* Lets another VCPU execute, if one is more urgent or the budget of this one is used up. */
void scheduler_continue(struct vcpu *vcpu);

/* An interrupt has interrupted the VCPU's guest at `time`, a value of CNTPCT_EL0. The time until
 * then is charged, because the interrupt may be for another VCPU. */
void scheduler_enter(uint64_t time);

/* Handles the pending interrupts of the hypervisor. The VCPU's guest does not execute meanwhile. */
void scheduler_handle_interrupts(struct vcpu *vcpu);

/* Returns true if the processor has several VCPUs, and an interrupt is pending for one of them or
 * for the hypervisor. */
bool scheduler_has_interrupt(void);

/* Sets an interrupt aside for another VCPU of the processor to which it is routed. If it is an SPI
 * of a guest that is routed to no VCPU of this processor, returns it to the GIC. `number`: INTID of
 * an interrupt that listed_take() acknowledged. Returns false if the interrupt is not a guest's. */
bool scheduler_forward_interrupt(struct vcpu *vcpu, uint32_t number);

/* Handles the expiry of the processor's timer. */
void scheduler_timer(struct processor *processor);

/* Lets a processor that is shared execute the hypervisor at `time`, a value of CNTPCT_EL0:
 * scheduler_timer() calls watch_do_due_work() then. */
void scheduler_set_work_due(struct processor *processor, uint64_t time);

/* Wakes a VCPU of this processor, which is shared. Its monitor handles a message when it executes
 * (interrupt_handle_messages()). */
void scheduler_call(struct vcpu *vcpu);

/* Wakes the VCPUs of the processor for which there are messages (interrupt_handle_messages(),
 * gic_send()), SGIs or requests. They pay for this, and handle the messages when they execute. On a
 * processor that is not shared, handles those for `vcpu`. Takes the mail of `vcpu`. */
void scheduler_message(struct vcpu *vcpu);

/* Does so after an interrupt of the hypervisor's device, except that it takes no mail. Charges the
 * exit to the boot VCPU of the partition for which the interrupt was, if this core has that VCPU,
 * whether it has been woken for an earlier message or not. `partition`: index, or
 * DESCRIPTION_NO_PARTITION. */
void scheduler_device_interrupt(struct vcpu *vcpu, uint32_t partition);

/* Carries out a guest's write to ICC_SGI1R_EL1, if its partition has VCPUs on shared cores.
 * `value`: the value that it writes. Returns ACCESS_REFUSED if the write names targets outside of
 * the partition, otherwise ACCESS_DONE. */
enum access_result scheduler_send_sgi(struct vcpu *vcpu, uint64_t value);

/* Discards the SGIs in the VCPU's mail and its own request to another VCPU, carries out the
 * requests of others to it, and routes the SPIs that it has taken to their homes. Its guest does
 * not execute. */
void scheduler_reset(struct vcpu *vcpu);

/* Prepares the start of the VCPU's guest: its times begin, and the core has all of its
 * registers. */
void scheduler_start_guest(struct vcpu *vcpu);

#endif
