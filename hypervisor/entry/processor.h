/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a processor: one page, mapped in the monitors of its VCPUs alone. TPIDR_EL2 has its
 * address.
 */
#ifndef ENTRY_PROCESSOR_H
#define ENTRY_PROCESSOR_H

#include "entry/frame.h"
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
    struct shared_core *shared; /* scheduler/: NULL: one VCPU has it alone */
    uint32_t index;             /* in the description */
    uint32_t overdue; /* watch.c: the hypervisor's SPIs that were pending at the last look */
    /* ESR_EL2 and FAR_EL2 of this monitor's last access that a device did not answer. 0: none since
     * the partition was last stopped for one. */
    uint64_t device_syndrome, device_address;
    uint64_t looked; /* watch.c: CNTPCT_EL0 at the last look */
    uint32_t reader; /* watch.c: the partition that took over the interrupt of the SMMU last */
};

enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

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

/* vectors.S: starts or continues the guest with these registers, which lie at the top of the
 * monitor's stack. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: switches this processor to the tables and the stack of its monitor. */
_Noreturn void monitor_enter(struct processor *processor);
/* enter.S: turns on the MMU with the tables at `root`, which map the caller one to one. */
void monitor_mmu_on(uint64_t root);
/* enter.S: the first instruction of a processor that PSCI starts; x0 is its struct processor. */
extern const char monitor_processor_entry[];
/* monitor.c: starts the partition, or waits until the partition starts this VCPU. Called on the
 * monitor's own stack. */
_Noreturn void monitor_main(struct processor *processor);
/* monitor.c: stops this processor for ever. */
_Noreturn void monitor_halt(void);
/* resident.c: handles an exception of the guest, on the resident tables. Returns false, and changes
 * nothing, if monitor_trap() has to handle it. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* monitor.c: handles an exception from EL2. Returns only if a device did not answer an access: the
 * access is skipped, and a load has read ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c: handles an exception of the guest, on the service tables. */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
