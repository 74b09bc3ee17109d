/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to the set of budgeted VCPUs, for the functions of kernel/vcpu.h. The caller has charged
 * the running thread until `now`, and sets core->reschedule. Interrupts masked in every call.
 */
#ifndef SCHED_VCPU_POLICY_H
#define SCHED_VCPU_POLICY_H

#include "sched/policy.h"

/* Binds a thread of any state to a VCPU, or to none (NULL). */
void policy_bind(struct policy *policy, struct thread *thread, struct vcpu *vcpu, uint64_t now);

/* Gives a VCPU another budget and period, which are valid. Call policy_rank(). */
void policy_set_parameters(struct vcpu *vcpu, uint64_t budget, uint64_t period, uint64_t now);

/* Gives all VCPUs their levels again, after one was added or got another period. */
void policy_rank(struct policy *policy);

/* Removes a VCPU to which no thread is bound. `threads` is the list of all threads. */
void policy_remove_vcpu(struct policy *policy, struct vcpu *vcpu, const struct list *threads);

#endif
