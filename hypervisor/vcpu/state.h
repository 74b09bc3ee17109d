/* SPDX-License-Identifier: BSD-2-Clause */
/* The power state of a VCPU, as the partition's other VCPUs see it (hypercall/psci.h). */
#ifndef VCPU_STATE_H
#define VCPU_STATE_H

#include <stdint.h>

enum vcpu_state {
    VCPU_OFF,
    VCPU_STARTING,
    VCPU_READY,
    VCPU_ON,
    VCPU_HALTED /* its monitor has halted its core: it never executes again */
};

/*
 * `state` is accessed by atomic operations. Another VCPU that calls CPU_ON changes it from VCPU_OFF
 * to VCPU_STARTING by compare and exchange, writes entry and context, and changes it to VCPU_READY
 * in the same way, because the VCPU's core may have halted meanwhile.
 * Only the VCPU's own monitor makes all other changes. The monitor that has made the last change
 * owns entry and context.
 */
struct vcpu_power {
    uint32_t state;   /* enum vcpu_state */
    uint64_t entry;   /* guest address of the first instruction */
    uint64_t context; /* value of x0 at the entry */
};

#endif
