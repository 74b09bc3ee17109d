/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits the memory bandwidth of VCPUs that have a core of their own (docs/decisions/0099). An
 * event counter of EL2 raises an interrupt when the guest has caused as many events as its window
 * has. Then the monitor parks the VCPU: it does not return to the guest before the window ends,
 * which the processor's timer shows (entry/watch.h).
 *
 * All functions are called on the VCPU's own processor, except bandwidth_boot() and
 * bandwidth_is_limited(). Images without limits have absent.c and boot_absent.c.
 */
#ifndef BANDWIDTH_BANDWIDTH_H
#define BANDWIDTH_BANDWIDTH_H

#include "hypervisor/processor.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if the bandwidth of the partition's VCPUs is limited. */
static inline bool bandwidth_is_limited(const struct partition *partition)
{
    return partition->constant.described->bandwidth.events != 0;
}

/* Calls boot_refuse() if the partition is limited and the image has no code for it, or if the
 * firmware has Group 0. Boot. */
void bandwidth_boot(const struct partition *partition);

/* Prepares the processor of a VCPU that is limited. Returns NULL, or the reason of a failure in
 * static memory. Called once in each monitor, after gic_start_core() and guest_state_init(). */
const char *bandwidth_start_core(struct vcpu *vcpu);

/* Begins the first window: the VCPU's guest starts. After gic_reset_core() and
 * guest_state_reset(). */
void bandwidth_start_guest(struct vcpu *vcpu);

/* Ends the limit: the VCPU's guest does not execute any more. */
void bandwidth_end_guest(struct vcpu *vcpu);

/* Handles the interrupt of the performance monitors. Returns false if `number` is another one. */
bool bandwidth_take_interrupt(struct vcpu *vcpu, uint32_t number);

/* Returns the time at which the window of the processor's VCPU ends, or UINT64_MAX. */
uint64_t bandwidth_due(const struct processor *processor);

/* Ends the window if it is time to, and begins the next one. */
void bandwidth_do_due_work(struct processor *processor);

/* Waits until the window of the VCPU ends, if its events are used up. Handles interrupts meanwhile.
 * Returns early if the guest is not to execute any more. `pc`: the guest's program counter, for the
 * report of a fault. In the VCPU's monitor, after each exit that the services have handled. */
void bandwidth_wait(struct processor *processor, struct vcpu *vcpu, uint64_t pc);

#endif
