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
#include <stddef.h>
#include <stdint.h>

/* ESR_EL2 for an unknown reason (Arm ARM, ESR_ELx: EC is 0, IL is 1). */
#define SYNDROME_UNKNOWN_REASON (UINT64_C(1) << 25)

struct processor {
    uint64_t services; /* root of the service tables, which map all that the monitor accesses */
    /* entry/branch_isolation.h: the function of the firmware that discards branch predictions; 0:
     * none. It follows `services`, because vectors.S reads both at once. */
    uint64_t branch_workaround;
    uint64_t stack;    /* top of the monitor's stack */
    uint64_t resident; /* root of the resident tables, which are used while the guest runs */
    /* The VCPU whose state the processor has. Tables and stack are those of its monitor. */
    struct vcpu *vcpu;
    struct vcpu *vcpus; /* all VCPUs of the processor: a list by `next` */
    /* scheduler/: state of a shared core; NULL: the processor has one VCPU. */
    struct shared_core *shared;
    uint32_t index;   /* index of the core in the description */
    uint32_t overdue; /* entry/watch.c: the hypervisor's SPIs that were pending at the last check */
    /* entry/interrupt.c: the device's SPI that this processor is handling; 0: none. It is active,
     * and may have been routed to another core meanwhile. */
    uint32_t handled_spi;
    /* ESR_EL2 and FAR_EL2 of the last access by this processor's monitors to which a device did not
     * respond. The syndrome is 0 if there was none since a partition was last stopped for one. */
    uint64_t device_syndrome, device_address; /* SYNDROME_UNKNOWN_REASON: without an exception */
    uint64_t looked;                          /* entry/watch.c: CNTPCT_EL0 at the last check */
    /* entry/watch.c: CNTPCT_EL0 at which the processor, which is not shared, ends a pause of an
     * interrupt, or looks whether its guest hangs; 0: never. */
    uint64_t work_due;
    uint32_t
        reader; /* entry/watch.c: index of the partition that took over the SMMU's interrupt last */
};

_Static_assert(offsetof(struct processor, branch_workaround) ==
                   offsetof(struct processor, services) + sizeof(uint64_t),
               "read by one instruction");
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
