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

/* Asks all VCPUs of the partition to stop. An earlier request stays. */
void life_request(struct vcpu *vcpu, enum partition_request request);

/* Handles a request that the guest made or that was typed on the terminal, and says so there.
 * `request`: REQUEST_STOP or REQUEST_RESET. */
void life_request_by_guest(struct vcpu *vcpu, enum partition_request request);
void life_request_by_terminal(struct vcpu *vcpu, enum partition_request request);

/* Makes a request that replaces any other, and says `event` on the terminal. On the processor of
 * the boot VCPU, which `vcpu` is. */
void life_replace_request(struct vcpu *vcpu, enum partition_request request, const char *event);

/* The next step of a VCPU that does not execute. */
enum life_step {
    LIFE_EXECUTE, /* start the guest: struct vcpu_power has its entry and context */
    LIFE_POLL,    /* ask again: the partition starts or stops, or another VCPU has not stopped and
                   * its time limit is not over */
    LIFE_SLEEP    /* an interrupt comes when there is more to do */
};

/* Begins to start the partition, if this is its boot VCPU. At boot, once. */
enum life_step life_begin(struct vcpu *vcpu);

/* The VCPU has stopped, because it called CPU_OFF or because the partition has to stop. */
void life_leave(struct vcpu *vcpu);

/* Does what is to be done while the VCPU does not execute: starts it, if another VCPU called CPU_ON
 * for it; completes a stop or a restart of the partition. */
enum life_step life_continue(struct vcpu *vcpu);

#endif
