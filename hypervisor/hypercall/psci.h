/* SPDX-License-Identifier: BSD-2-Clause */
/* PSCI 1.1 (DEN0022) for the VCPUs of the caller's own partition. */
#ifndef HYPERCALL_PSCI_H
#define HYPERCALL_PSCI_H

#include "hypervisor/partition.h"

/* The action that the monitor has to take for a call. */
enum psci_action {
    ACTION_RETURN,     /* the guest continues */
    ACTION_SUSPEND,    /* the VCPU waits for an interrupt; then the guest continues */
    ACTION_CORE_START, /* VCPU `target`, now VCPU_STARTING, has to be called; the guest continues */
    ACTION_CORE_OFF,   /* the calling VCPU, which is VCPU_OFF now, waits to be started */
    ACTION_SYSTEM_OFF, /* the partition has to stop */
    ACTION_SYSTEM_RESET, /* the partition has to restart */
};

/* Handles a call. `vcpu`: number of the calling VCPU. `registers`: X0 to X3; if the guest
 * continues, X0 is set to the result. *target is set for ACTION_CORE_START only. */
enum psci_action psci_call(struct partition *partition, uint32_t vcpu, uint64_t registers[4],
                           uint32_t *target);

#endif
