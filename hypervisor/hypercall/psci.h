/* SPDX-License-Identifier: BSD-2-Clause */
/* PSCI 1.1 (DEN0022), for the VCPUs of the caller's own partition. */
#ifndef HYPERCALL_PSCI_H
#define HYPERCALL_PSCI_H

#include "hypervisor/partition.h"

/* The action that a call requests from the monitor. */
enum psci_action {
    ACTION_RETURN,       /* continue the guest */
    ACTION_SUSPEND,      /* wait for an interrupt, then continue the guest */
    ACTION_CORE_START,   /* tell VCPU `target`, which is now VCPU_STARTING; continue the guest */
    ACTION_CORE_OFF,     /* the calling VCPU, which is now VCPU_OFF, waits to be started */
    ACTION_SYSTEM_OFF,   /* stop the partition */
    ACTION_SYSTEM_RESET, /* restart the partition */
};

/* Handles a call. `vcpu`: the calling VCPU. `registers`: X0 to X3; if the guest continues, X0 has
 * the result. `target` is written with ACTION_CORE_START only. */
enum psci_action psci_call(struct partition *partition, uint32_t vcpu, uint64_t registers[4],
                           uint32_t *target);

#endif
