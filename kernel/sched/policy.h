/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduling policy: which of the runnable threads runs, and until when. This header is the
 * whole interface between the policy and the rest of the kernel. The mechanism (scheduler.c), the
 * synchronisation objects and the interrupts do not know which policy is linked.
 *
 * `now` is a counter value (arch_clock_ticks()), which the caller reads once for a decision. It
 * never goes back. All amounts of time are counter ticks. Interrupts masked in every call.
 *
 * The kernel's policy is in policy_vcpu.c; the state below is that policy's.
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "kernel/list.h"
#include "kernel/sync.h"
#include "sched/demand.h"
#include "sched/run_queue.h"
#include "sched/vcpu_private.h"
#include "schedule/tournament.h"
#include <stdbool.h>
#include <stdint.h>

#define POLICY_NEVER UINT64_MAX

/* The policy's state of one core. */
struct policy {
    uint32_t changed;           /* bit id - 1: budget or level have changed since policy_choose() */
    struct demand demand;       /* in front of run_queue.levels, with which it is compared */
    struct run_queue run_queue; /* the runnable threads, the running one among them */
    struct vcpu_set vcpus;
    /* By id - 1: the counter value at which a runnable VCPU without budget gets budget again;
     * POLICY_NEVER for all other VCPUs. */
    struct tournament replenishments;
    uint64_t end_cost; /* ticks of the end of a budget and its return; 0 until they are known */
    struct mutex vcpu_lock; /* held while a change to the set of VCPUs is tested and made */
    int (*vcpu_of_thread)(const char *name); /* vcpu_assign_by_name() */
};

/* The policy's state of one thread. The rest of the kernel reads `urgency` and `charged` alone. */
struct standing {
    unsigned priority;    /* the thread's own */
    unsigned urgency;     /* own_urgency(), or what a waiter for a mutex has lent */
    struct vcpu *bound;   /* NULL: none */
    struct vcpu *charged; /* the VCPU whose budget it uses: `bound`, or the waiter's; NULL: none */
    struct vcpu *service; /* I/O VCPU whose work its next wait is for; NULL: none */
    struct list_node bound_node; /* on the list of `bound` */
    struct list_node group_node; /* runnable: in the group of `charged` */
    int listed_vcpu;             /* id of the latest vcpu_getparam() */
};

void policy_init(struct policy *policy);

/* Sets up the standing of a new thread, which has its name and is not runnable yet. */
void policy_admit(struct policy *policy, struct thread *thread, unsigned priority);

/* Removes a thread that has ended. If it was runnable, call policy_block() before. */
void policy_dismiss(struct thread *thread);

/* Makes a thread runnable that was created, or whose wait ended. It goes behind the runnable
 * threads of its urgency. Returns true if the results of policy_choose() and policy_next_decision()
 * may have changed. `running` is NULL until the first thread runs. `since`: the time at which its
 * wait should have ended, at most `now`. */
bool policy_unblock(struct policy *policy, struct thread *thread, const struct thread *running,
                    uint64_t now, uint64_t since);

/* Removes a thread that blocks or ends from the runnable ones. Its time until `now` has been
 * charged. */
void policy_block(struct policy *policy, struct thread *thread, uint64_t now);

/* Charges the running thread for the `ticks` until `now`. */
void policy_charge(struct policy *policy, struct thread *thread, uint64_t ticks, uint64_t now);

/* Charges a VCPU for the kernel's work for it: interrupts, decisions, switches. A VCPU without
 * runnable threads pays when it wakes up, because its server takes no charge before. Returns false,
 * and charges nothing, if the VCPU has no budget, or the work ends it. */
static inline bool policy_charge_work(struct vcpu *payer, uint64_t ticks)
{
    if (ticks < payer->left) {
        payer->left -= ticks;
        return true;
    }
    if (payer->runnable == 0 && payer->has_budget) {
        payer->span += ticks;
        return true;
    }
    return false;
}

/* Returns true if the VCPU has budget, and so much work would end it. NULL: false. */
static inline bool policy_work_ends_budget(const struct vcpu *payer, uint64_t ticks)
{
    return payer != NULL && payer->has_budget && ticks >= payer->left;
}

/* Charges the VCPU if policy_charge_work() returned false: its next budget, or nobody if the thread
 * `running`, which ran before or was interrupted, had no budget either, and the VCPU's next budget
 * has not returned by `now`, the end of the work. policy_choose() need not follow at once. */
void policy_charge_work_beyond(struct policy *policy, struct vcpu *payer,
                               const struct thread *running, uint64_t ticks, uint64_t now);

/* Returns the counter value from which on the VCPU has budget; it has budget now if this is not in
 * the future. Charges it for the kernel's work since it blocked. */
uint64_t policy_resumes(struct policy *policy, struct vcpu *vcpu, uint64_t now);

/* Returns the thread to run now. The idle thread is always runnable. */
struct thread *policy_choose(struct policy *policy, uint64_t now);

/* Returns the counter value at which policy_choose() must be called again although no thread blocks
 * or becomes runnable: the end of the budget of `running`, or a replenishment if a more urgent VCPU
 * waits for one. POLICY_NEVER: none. */
uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now);

/* Moves a thread that runs behind the other runnable threads of its urgency. */
void policy_yield(struct policy *policy, struct thread *thread, uint64_t now);

/* Returns the thread's own priority. */
unsigned policy_priority(const struct thread *thread);

/* Gives the thread another priority of its own, which counts from the next policy_lend() on. */
void policy_set_priority(struct thread *thread, unsigned priority);

/* Returns how urgent the thread is without what waiters lend it. */
unsigned policy_own_urgency(const struct thread *thread);

/* Returns how urgent a blocked thread would be at most if it became runnable now. */
unsigned policy_wake_urgency(const struct policy *policy, const struct thread *thread);

/* Returns true if policy_lend() with this waiter would change nothing. */
bool policy_has_loan(const struct thread *thread, const struct thread *waiter);

/*
 * A waiter for a mutex lends the thread, which holds the mutex, its urgency and its budget; NULL:
 * the thread has its own again. The running thread's time until `now` has been charged. A runnable
 * thread that becomes more urgent goes behind the others of its new urgency; one that becomes less
 * urgent goes in front of them, because it did not yield (POSIX, pthread_setschedprio).
 */
void policy_lend(struct policy *policy, struct thread *thread, const struct thread *waiter,
                 uint64_t now);

/* Declares that the next wait of the running thread is for the work of `server`, a thread that
 * serves a device; NULL: for no device's work. Returns false if the call has no effect, because the
 * server has no I/O VCPU. */
bool policy_set_service(struct thread *thread, const struct thread *server);

/* Returns a bit that stands for the thread's VCPU, 0 if it has none. */
uint32_t policy_user_bit(const struct thread *thread);

/* Counts a critical section of `ticks` that a thread of each of these VCPUs may have to wait for.
 * `users`: their bits. */
void policy_note_blocking(struct policy *policy, uint32_t users, uint64_t ticks);

/* Counts a deadline that a periodic thread has missed. */
void policy_count_miss(struct thread *thread);

/* Returns true if the running thread takes time from nobody: no other thread is runnable, the idle
 * thread not counted, and it uses no budget. */
bool policy_is_alone(const struct policy *policy, const struct thread *running);

#endif
