/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a shared core, and of a VCPU on a shared core. Each has one page, which only the
 * monitors of the core's VCPUs map. */
#ifndef SCHEDULER_CORE_H
#define SCHEDULER_CORE_H

#include "hypervisor/processor.h"
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
    struct trace trace; /* the first field, which saves an instruction for each record */
    struct vcpu *vcpus[POLICY_LEVELS]; /* the VCPUs of the core, by level */
    struct policy policy;
    /* Turn of a VCPU in nanoseconds; 0: the core is shared by budgets (reservation.h). */
    uint64_t quantum;
    /* The VCPU whose FP and SIMD registers the core has; NULL: none. */
    const struct vcpu *vectors;
    /* The VCPU whose debug registers and performance monitors the core has; NULL: none. */
    const struct vcpu *debug;
    /* The VCPU, by partition, whose translations of stage 1 the TLB has; NULL: none. */
    const struct vcpu *translations[DESCRIPTION_PARTITIONS_MAX];
    struct debug_resources resources;
    struct interrupt_resources interrupts;
    struct ledger ledger;
    /* The VCPU for which the last message was. It pays for an SGI that arrives after its message
     * has been handled. */
    struct vcpu *last_called;
    bool has_pointer_keys;    /* the processor has FEAT_PAuth */
    bool has_deferred_errors; /* the processor has FEAT_RAS */
    bool has_started;         /* scheduler_start() has initialised the scheduler */
    /* No private interrupt of the VCPU that is in the core was pending then: it blocked, or another
     * VCPU changed the state of its interrupts. Value of CNTPCT_EL0. */
    uint64_t none_pending;
    /* Another choice is due: a VCPU got work, or the timer expired, at ledger.charged. */
    bool reschedule;
    struct distribution_window window; /* distributor/: the window that is open */
    struct distribution_log log;       /* distributor/: its last decisions */
    unsigned vcpu_count; /* number of VCPUs of the core; they have the levels 0 to vcpu_count - 1 */
    uint64_t closing;    /* distributor/: parts that are being closed; 0: none */
    unsigned closed;     /* distributor/: number of VCPUs for which they have been closed */
    unsigned judged;     /* distributor/: number of VCPUs whose window has been closed */
    bool has_to_judge;   /* distributor/: the windows of other VCPUs have to be closed */
    /* distributor/: value of CNTPCT_EL0 at which the core has to close parts and windows even if a
     * VCPU executes without an exit, because one of its VCPUs has taken a source. UINT64_MAX:
     * never. */
    uint64_t look_due;
    /* Value of CNTPCT_EL0 at which the core ends a pause, or looks whether a guest hangs
     * (entry/watch.h). UINT64_MAX: never. */
    uint64_t work_due;
    uint64_t exit_due; /* the earlier one of both: shared_core_set_exit_due() */
};

struct shared_vcpu {
    union reservation_server server;
    struct times times;
    uint32_t partition_starts; /* value of partition->starts when its guest started last */
    unsigned level;            /* priority of the VCPU: 0 is the most urgent */
    /* The VCPU has executed before: its state is saved here, or is in the core. */
    bool has_executed;
    bool has_message; /* a message for it has arrived since scheduler_wait() */
    /* It has been woken for a message, and has not executed since. */
    bool is_called;
    bool is_blocked; /* it has no work, and was charged for its last execution */
    /* Time from which on it has work because the timer of its guest has expired. UINT64_MAX: none
     * is set, or the VCPU has work. */
    uint64_t expiry;
    uint64_t stack; /* stack pointer of its monitor, while another VCPU executes */
    struct guest_registers registers;
    struct saved_interrupts interrupts;
    struct vector_registers vectors;
    struct debug_registers debug;
    /* distributor/: values at the end of the last window: CNTPCT_EL0, `used` of its report, and
     * `idle` of the ledger. */
    uint64_t judged, used_before, idle_before;
    /* distributor/: most ticks in a part that it may have executed to take a source. */
    uint64_t room;
};

_Static_assert(sizeof(struct shared_core) <= DESCRIPTION_PAGE_BYTES, "must fit one page");
_Static_assert(sizeof(struct shared_vcpu) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Sets the time at which the hypervisor has to execute on the core, after one of its two reasons
 * has changed. The next choice sets the timer. */
static inline void shared_core_set_exit_due(struct shared_core *core)
{
    core->exit_due = core->look_due < core->work_due ? core->look_due : core->work_due;
}

/* Returns CNTPCT_EL0. Without the barrier, the counter may be read early (Arm ARM, CNTPCT_EL0). */
static inline uint64_t scheduler_time(void)
{
    instruction_barrier();
    return register_read(cntpct_el0);
}

/* Invalidates the partition's translations of stage 1 in the TLB if another VCPU of the partition
 * was the last one to execute on this core. The VCPUs of a partition have one VMID, but the guest
 * may use an ASID on each of them for another address space: an ASID is private to a PE unless
 * TTBRn_EL1.CnP is set (Arm ARM, "Use of ASIDs and VMIDs to reduce TLB maintenance requirements").
 * VTTBR_EL2 must have the VCPU's value. */
static inline void translations_use(struct shared_core *core, const struct vcpu *vcpu)
{
    const struct vcpu **last = &core->translations[vcpu->partition->constant.index];

    if (*last != vcpu) {
        *last = vcpu;
        __asm__ volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
    }
}

/* Begins the execution of a VCPU: charges the payer for the way to its guest, makes the VCPU the
 * payer, and sets the core's timer. */
void scheduler_resume(struct shared_core *core, struct vcpu *vcpu);

/* Writes the times that the guest of the VCPU reads, right before the guest continues. `executed`:
 * its virtual time. Inline, because each change between VCPUs calls it. */
static inline void scheduler_show_times(const struct shared_core *core, const struct vcpu *vcpu,
                                        uint64_t executed)
{
    struct times *times = &vcpu->shared->times;
    uint64_t used = vcpu->report.used, charged = core->ledger.charged;

    times_show_stolen(times, used, charged);
    times_return(times, executed, used, charged, scheduler_time(), core->ledger.costs.way_back);
}

/* Another VCPU has changed the state of the private interrupts of the VCPU that is in the core. One
 * that is pending from now on was not before. */
static inline void scheduler_note_change(struct shared_core *core)
{
    core->none_pending = core->ledger.charged;
}

/* Wakes a VCPU of the processor for an interrupt or for mail, which has come before this exit's
 * last charge. The VCPU pays from then on, or from the end of an earlier cause's work, until the
 * next choice. It need not execute. */
void scheduler_wake(struct processor *processor, struct vcpu *vcpu);

/* Charges the payer for the core's time until now. Returns the time until which it was charged. */
uint64_t scheduler_charge(struct shared_core *core);

/* Writes a record to the core's trace. `now`: not before the last charge. `level`: of the VCPU in
 * question, or POLICY_NONE. */
void scheduler_record(struct shared_core *core, uint64_t now, enum trace_kind kind, unsigned level);

/* switch.S: change to another monitor. Both functions store the stack pointer of the calling
 * monitor in *own_stack, and return when that monitor continues. switch_to_waiting() continues the
 * monitor that has waited on `stack`, with the tables of `processor`. switch_to_new() enters the
 * monitor of processor->vcpu for the first time. */
void switch_to_waiting(uint64_t *own_stack, uint64_t stack, const struct processor *processor);
void switch_to_new(uint64_t *own_stack, struct processor *processor);

#endif
