/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports on the terminal about faults of VCPUs, and about their partitions: why they stop or
 * restart. An exit only notes them. Their output is the work of several entries, between which the
 * other VCPUs of the core execute (docs/decisions/0063).
 */
#ifndef PARTITION_NOTICE_H
#define PARTITION_NOTICE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stddef.h>

/* Notes a fault that is recorded in the VCPU's page. */
void notice_fault(struct vcpu *vcpu, enum fault_kind kind);

/* Notes an event of the VCPU's partition. Of more than two that are not reported yet, the last but
 * one is dropped: an order that another one has replaced before it began. `event`: the report after
 * the partition's name, a constant. */
void notice_event(struct vcpu *vcpu, const char *event);

/* Returns true if something is noted and not reported. */
static inline bool notice_is_left(const struct vcpu *vcpu)
{
    const struct notice *notice = &vcpu->notice;

    return notice->fault != FAULT_NONE || notice->events[0] != NULL || notice->has_to_send;
}

/* Takes the next step of the reports that are left, an entry's work: prints the last line of the
 * guest, formats the report of a fault, sends it, or prints an event. The VCPU's guest does not
 * execute any more, and its partition has not stopped yet. */
void notice_report(struct vcpu *vcpu);

#endif
