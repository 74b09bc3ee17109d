/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a processor: one page, which only the monitors of its VCPUs map. TPIDR_EL2 has its
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
    uint64_t services; /* root of the service tables, which map all that the monitor accesses */
    uint64_t stack;    /* top of the monitor's stack */
    uint64_t resident; /* root of the resident tables, which are used while the guest runs */
    /* The VCPU whose state the processor has. Tables and stack are those of its monitor. */
    struct vcpu *vcpu;
    struct vcpu *vcpus; /* all VCPUs of the processor: a list by `next` */
    /* scheduler/: state of a shared core; NULL: the processor has one VCPU. */
    struct shared_core *shared;
    uint32_t index;   /* index of the core in the description */
    uint32_t overdue; /* watch.c: the hypervisor's SPIs that were pending at the last check */
    /* ESR_EL2 and FAR_EL2 of the last access by this processor's monitors to which a device did not
     * respond. The syndrome is 0 if there was none since a partition was last stopped for one. */
    uint64_t device_syndrome, device_address;
    uint64_t looked; /* watch.c: CNTPCT_EL0 at the last check */
    uint32_t reader; /* watch.c: index of the partition that took over the SMMU's interrupt last */
};

/* Kinds of exceptions, in the order of their vectors. */
enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

_Static_assert(sizeof(struct processor) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns the calling processor, or NULL during boot, before its monitor is entered. */
static inline struct processor *processor_this(void)
{
    return (struct processor *)(uintptr_t)register_read(tpidr_el2);
}

/* Makes the VCPU the one that executes on the processor. */
static inline void processor_set_vcpu(struct processor *processor, struct vcpu *vcpu)
{
    processor->vcpu = vcpu;
    processor->services = vcpu->services;
    processor->resident = vcpu->resident;
    processor->stack = vcpu->stack;
}

/* vectors.S: starts or continues the guest with these registers, which are at the top of the
 * monitor's stack. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: switches this processor to the tables and the stack of its monitor, and calls
 * monitor_main(). */
_Noreturn void monitor_enter(struct processor *processor);
/* enter.S: turns on the MMU and the caches with the tables at `root`, which map the caller one to
 * one. */
void monitor_mmu_on(uint64_t root);
/* enter.S: the first instruction of a processor that PSCI starts. x0 is its struct processor. */
extern const char monitor_processor_entry[];
/* monitor.c: starts the partition if the VCPU is its boot VCPU, otherwise waits until the partition
 * starts the VCPU. Called on the monitor's own stack. */
_Noreturn void monitor_main(struct processor *processor);
/* monitor.c: halts this processor for ever. */
_Noreturn void monitor_halt(void);
/* resident.c: handles an exception of the guest, on the resident tables. `kind`: enum vector.
 * Returns false, and changes nothing, if monitor_trap() has to handle it. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* monitor.c: handles an exception from EL2. `kind`: enum vector. Returns only if a device did not
 * respond to an access: the access is skipped, and a load has read ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c: handles an exception of the guest, on the service tables. `kind`: enum vector. Does not
 * return if the guest does not continue. */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
