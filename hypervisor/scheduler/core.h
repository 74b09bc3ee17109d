/* SPDX-License-Identifier: BSD-2-Clause */
/* A core that several VCPUs share, and a VCPU on it. One page each, mapped in the monitors of these
 * VCPUs alone. */
#ifndef SCHEDULER_CORE_H
#define SCHEDULER_CORE_H

#include "entry/processor.h"
#include "hypervisor/registers.h"
#include "scheduler/ledger.h"
#include "scheduler/policy.h"
#include "scheduler/trace.h"
#include "stolen_time/times.h"
#include "world_switch/debug.h"
#include "world_switch/guest_registers.h"
#include "world_switch/interrupts.h"
#include "world_switch/vectors.h"
#include <stdbool.h>
#include <stdint.h>

struct shared_core {
    struct trace trace;                /* first: one instruction less for each record */
    struct vcpu *vcpus[POLICY_LEVELS]; /* by level */
    struct policy policy;
    uint64_t quantum;           /* nanoseconds; 0: the scheduler is reservation */
    struct tournament expiries; /* by level: CNTPCT_EL0 at which the timer of a guest that waits
                                 * expires */
    const struct vcpu *vectors; /* whose FP and SIMD registers the core has; NULL: nobody's */
    const struct vcpu *debug;   /* whose debug registers and performance monitors; likewise */
    const struct vcpu *translations[DESCRIPTION_PARTITIONS_MAX]; /* of a partition: whose the TLB
                                                                  * has */
    struct debug_resources resources;
    struct interrupt_resources interrupts;
    struct ledger ledger;
    bool has_pointer_keys; /* FEAT_PAuth */
    bool has_started;
    bool reschedule; /* a VCPU has got work, or the timer has expired: another choice is due */
    struct distribution_window window;
    unsigned vcpu_count; /* they have the levels 0 to vcpu_count - 1 */
    uint64_t closing;    /* parts that are over, which some VCPUs have not closed; 0: none */
    unsigned closed;     /* VCPUs that have closed them */
    unsigned judged;     /* VCPUs whose window has been closed, ... */
    bool has_to_judge;   /* ... while others' has not */
    /* CNTPCT_EL0 at which the core looks at its windows even if a VCPU executes without an exit,
     * because one of its VCPUs has taken a source. UINT64_MAX: never. */
    uint64_t look_due;
};

struct shared_vcpu {
    union reservation_server server;
    struct times times;
    uint32_t partition_starts; /* when its guest started last */
    unsigned level;
    bool has_executed; /* its state is saved here, or is in the core */
    bool has_message;  /* a message has come since scheduler_wait() */
    uint64_t stack;    /* its monitor's, while another VCPU executes */
    struct guest_registers registers;
    struct saved_interrupts interrupts;
    struct vector_registers vectors;
    struct debug_registers debug;
    /* At the end of the last window: CNTPCT_EL0, its report's `used`, and the ledger's `idle`. */
    uint64_t judged, used_before, idle_before;
    uint64_t room; /* ticks of a part up to which it may execute and take a source */
};

_Static_assert(sizeof(struct shared_core) <= DESCRIPTION_PAGE_BYTES, "must fit one page");
_Static_assert(sizeof(struct shared_vcpu) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns CNTPCT_EL0. The counter may be read early without the barrier (Arm ARM, CNTPCT_EL0). */
static inline uint64_t scheduler_time(void)
{
    instruction_barrier();
    return register_read(cntpct_el0);
}

/* Takes the translations of stage 1 from the TLB that another VCPU of the partition has used. The
 * VCPUs of a partition have one VMID, and its guest may use an ASID on each of them for another
 * address space (Arm ARM, "Use of ASIDs and VMIDs to reduce TLB maintenance requirements": an ASID
 * is private to a PE unless TTBRn_EL1.CnP is set). The VCPU's VTTBR_EL2 is loaded. */
static inline void translations_use(struct shared_core *core, const struct vcpu *vcpu)
{
    const struct vcpu **last = &core->translations[vcpu->partition->index];

    if (*last != vcpu) {
        *last = vcpu;
        __asm__ volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
    }
}

/* Continues the VCPU after a change to it. The VCPU pays from now on if another one has paid for
 * the change. */
void scheduler_resume(struct shared_core *core, struct vcpu *vcpu);

/* Charges the payer for the core's time until now. Returns the time. */
uint64_t scheduler_charge(struct shared_core *core);

/* Writes a record to the core's trace. `now`: no earlier than the last charge. */
void scheduler_record(struct shared_core *core, uint64_t now, enum trace_kind kind, unsigned level);

/* switch.S: continues the monitor that has waited on the stack, with the tables of `processor`, or
 * enters the monitor of a VCPU for the first time. Returns when the calling monitor continues. */
void switch_to_waiting(uint64_t *own_stack, uint64_t stack, const struct processor *processor);
void switch_to_new(uint64_t *own_stack, struct processor *processor);

#endif
