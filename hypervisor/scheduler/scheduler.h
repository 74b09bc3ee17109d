/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that several VCPUs share. Images without shared cores have absent.c and boot_absent.c.
 *
 * A VCPU that does not execute keeps its place in the code of its monitor: each VCPU has a stack of
 * its own. So a function here that lets another VCPU execute returns later, when the VCPU of the
 * caller executes again. Nothing that was read before the call is known to be true then.
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

/* Of the trace of a shared core, which lies behind the page of the core (scheduler/trace.h). */
#define SCHEDULER_TRACE_BYTES UINT64_C(0x10000)

/* Makes what the VCPUs of a processor need to share it. Boot, on the boot core. */
void scheduler_boot(struct processor *processor);

/* Starts the processor's first VCPU, which is the caller. Called once on each core. */
void scheduler_start(struct processor *processor);

/* Returns when the VCPU may have something to do: an interrupt for its guest is pending, or a
 * message from another monitor has come. Returns without a reason, too. */
void scheduler_wait(struct vcpu *vcpu);

/* Lets a more urgent VCPU execute, if there is one, or any other if the budget is used up. */
void scheduler_continue(struct vcpu *vcpu);

/* Takes the hypervisor's interrupts that are pending. The VCPU's guest does not execute. */
void scheduler_handle_interrupts(struct vcpu *vcpu);

/* Takes an interrupt which listed_take() acknowledged, if it is for another VCPU of the processor.
 * Returns false if it is not. */
bool scheduler_forward_interrupt(struct vcpu *vcpu, uint32_t number);

/* The processor's timer has expired, or a message from another monitor has come. */
void scheduler_timer(struct vcpu *vcpu);
void scheduler_message(struct vcpu *vcpu);

/* Sends an SGI for a guest whose partition has VCPUs on shared cores. `value`: ICC_SGI1R_EL1. */
enum access_result scheduler_send_sgi(struct vcpu *vcpu, uint64_t value);

/* Forgets the interrupts that have come for the VCPU. Its guest does not execute. */
void scheduler_reset(struct vcpu *vcpu);

/* Prepares the start of the VCPU's guest: its times begin, and it has all registers. */
void scheduler_start_guest(struct vcpu *vcpu);

#endif
