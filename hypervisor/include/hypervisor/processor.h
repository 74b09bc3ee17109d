/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a processor: one page, mapped in the monitors of its VCPUs alone. TPIDR_EL2 has its
 * address. Only the processor itself accesses it, after the boot core has made it.
 */
#ifndef HYPERVISOR_PROCESSOR_H
#define HYPERVISOR_PROCESSOR_H

#include "hypervisor/registers.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

struct processor {
    uint64_t services;  /* root of the service tables, which map all that the monitor uses */
    uint64_t stack;     /* top */
    uint64_t resident;  /* root of the resident tables, which are used while the guest runs */
    struct vcpu *vcpu;  /* that executes on it; tables and stack are its monitor's */
    struct vcpu *vcpus; /* all that execute on it, in turn: a list by `next` */
    struct shared_core *shared; /* scheduler/; NULL: one VCPU has it alone */
    uint32_t index;             /* in the description */
    uint32_t overdue; /* entry/watch.c: the hypervisor's SPIs that were pending at the last look */
    /* ESR_EL2 and FAR_EL2 of this monitor's last access that a device did not answer. 0: none since
     * the partition was last stopped for one. */
    uint64_t device_syndrome, device_address;
    uint64_t looked; /* entry/watch.c: CNTPCT_EL0 at the last look */
    uint32_t reader; /* entry/watch.c: partition that took over the SMMU's interrupt last */
};

_Static_assert(sizeof(struct processor) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns the calling processor. NULL during boot, before its monitor is entered. */
static inline struct processor *processor_this(void)
{
    return (struct processor *)(uintptr_t)register_read(tpidr_el2);
}

/* Makes a VCPU the one that executes on the processor. */
static inline void processor_set_vcpu(struct processor *processor, struct vcpu *vcpu)
{
    processor->vcpu = vcpu;
    processor->services = vcpu->services;
    processor->resident = vcpu->resident;
    processor->stack = vcpu->stack;
}

#endif
