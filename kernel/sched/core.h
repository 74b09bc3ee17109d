/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's state of one core. core.c defines it; no other state is per core. */
#ifndef SCHED_CORE_H
#define SCHED_CORE_H

#include "interrupt/deferral.h"
#include "kernel/list.h"
#include "kernel/vcpu_report.h"
#include "sched/ledger.h"
#include "sched/policy.h"
#include "sched/timer_thread.h"
#include "time/timer_queue.h"
#include <arch/cpu.h>
#include <arch/vcpu_times.h>
#include <stdbool.h>
#include <stdint.h>

/* The fields that each interrupt and each context switch uses are first: a load or a store of a
 * pair of registers reaches only the first 512 bytes of a structure. */
struct core {
    struct thread *current; /* NULL until scheduler_start() */
    uint64_t decision_at;   /* policy_next_decision(); POLICY_NEVER once it has been reached */
    uint64_t timer_at; /* counter value at which the earliest timer is due; POLICY_NEVER: none */
    uint64_t timer_guard_at; /* from here on a decision waits for the timer: deferral_guard_of() */
    uint64_t interrupts;
    uint64_t interrupt_began; /* counter value at which the handlers of this interrupt began */
    struct ledger ledger;
    /* For how long the processor has executed other guests; NULL: it executes this one alone. */
    const struct vcpu_absence *absence;
    uint64_t context_switches;
    unsigned interrupt_depth;  /* nesting of interrupt handlers */
    unsigned preemption_depth; /* nesting of scheduler_preemption_disable() */
    bool reschedule;           /* the policy has to choose again */
    bool interrupt_overhead_is_known;
    struct deferral deferral;
    struct policy policy;
    struct timer_queue timers;
    struct timer_thread timer_thread;

    struct thread *idle;
    struct list threads;  /* all threads, in order of their numbers */
    struct list finished; /* detached threads that have ended and are not yet freed; queue_node */
    uint64_t next_thread_number;
    struct vcpu_report vcpu_report;
};

/* The running core. The address never changes (one core), so calls may be merged. */
struct core *core_this(void) __attribute__((const));

/* Sets up a core without threads and timers. Boot. */
void core_init(void);

/* From now on, charges no VCPU for the time for which the processor executes other guests. Thread
 * context. */
void core_follow_absence(const struct vcpu_absence *absence);

/* core_now() where the processor executes other guests, too. Not inline, and apart, because that
 * keeps it out of the way of kernels that have a processor of their own. */
uint64_t core_now_beside_others(struct core *core);

/* Reads the counter, and lets the time for which the processor was absent until now pass in the
 * ledger. The time of an interrupted thread is charged before that. Interrupts masked. */
static inline uint64_t core_now(struct core *core)
{
    if (__builtin_expect(core->absence != NULL, false)) {
        return core_now_beside_others(core);
    }
    return arch_clock_ticks();
}

/* Returns the time of a decision in a thread, a counter value that never goes back. When the
 * running thread has blocked or ended, it is the time at which it did: the time after that is not
 * the thread's. Thread context, interrupts masked. */
uint64_t core_thread_now(struct core *core);

/* Charges the running thread for its time until core_thread_now(), or the interrupted thread until
 * the interrupt. Returns that time, so that a handler that wakes several threads decides for all of
 * them at one time. Interrupts masked. */
uint64_t core_charge(struct core *core);

/* Tells tools until when all time has been charged. Interrupts masked. */
static inline void core_report_time(struct core *core)
{
    core->vcpu_report.accounted_until = core->ledger.charged;
}

/* Nobody pays for the time until `now`. Interrupts masked. */
static inline void core_take_unpaid(struct core *core, uint64_t now)
{
    core->vcpu_report.unpaid += ledger_take(&core->ledger, now);
}

#endif
