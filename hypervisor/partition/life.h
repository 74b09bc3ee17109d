/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start, stop and restart of a partition. A VCPU changes its own state only; a request to the
 * partition's other VCPUs is written to the partition's page, and an SGI tells their processors.
 * VCPU 0, the boot VCPU, completes requests, after all VCPUs have stopped.
 */
#ifndef PARTITION_LIFE_H
#define PARTITION_LIFE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Requests that all VCPUs of the partition stop. A request that has been made before is kept. */
void life_request(struct vcpu *vcpu, enum partition_request request);

/* Handle a request of the guest, and a request that was typed on the terminal, and print it there.
 * `request`: REQUEST_STOP or REQUEST_RESET. A partition that never restarts is stopped in place of
 * a restart by its guest; a restart typed on the terminal has no effect. */
void life_request_by_guest(struct vcpu *vcpu, enum partition_request request);
void life_request_by_terminal(struct vcpu *vcpu, enum partition_request request);

/* Makes a request that replaces any other, and prints `event` on the terminal. `vcpu`: the boot
 * VCPU. On its processor. */
void life_replace_request(struct vcpu *vcpu, enum partition_request request, const char *event);

/* Marks the VCPUs of a processor that halts for ever, and requests stops of their partitions. A
 * partition whose boot VCPU has halted has failed, because only that VCPU's monitor can complete a
 * stop; any other one is stopped, and may restart without the VCPU. `vcpus`: a list by `next`. On
 * the processor, which may have an error: a second call has no effect. */
void life_halt(struct vcpu *vcpus);

/* The next step of a VCPU that does not execute. */
enum life_step {
    LIFE_EXECUTE, /* start the guest: struct vcpu_power has its entry and context */
    LIFE_POLL,    /* call life_continue() again at once: the partition starts or stops, or another
                   * VCPU has not stopped and the time limit is not over */
    LIFE_SLEEP    /* wait for an interrupt, which comes when there is more to do */
};

/* Begins to start the partition if this is its boot VCPU. Called at boot, once on each VCPU. */
enum life_step life_begin(struct vcpu *vcpu);

/* Ends the execution of the VCPU, which has called CPU_OFF or whose partition has to stop. */
void life_leave(struct vcpu *vcpu);

/* Takes the next step of a VCPU that does not execute: to its start, if another VCPU has called
 * CPU_ON for it, or to the end of a stop or a restart of the partition. */
enum life_step life_continue(struct vcpu *vcpu);

#endif
