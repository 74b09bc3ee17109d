/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VCPUs: guaranteed processor time for threads and interrupts (Quest-V, 3.3).
 *
 * A VCPU has a budget of C nanoseconds in each period of T nanoseconds. The threads that are bound
 * to it use the budget, the more urgent thread first. A Main VCPU (SCHED_SPORADIC) is a sporadic
 * server; the shorter its period, the higher its priority. An I/O VCPU (SCHED_PIBS) serves
 * interrupts and bottom halves: it has the utilization C / T alone, and inherits period and
 * priority of the Main VCPU whose thread waits for its work. While none waits, it has a lower
 * priority than every Main VCPU.
 *
 * While a VCPU has budget, its threads run before every thread that has none. A thread without
 * budget, or without a VCPU, runs in the background at its own priority (kernel/thread.h).
 *
 * A thread that waits for a mutex lends its VCPU to the owner of the mutex, which uses its budget
 * meanwhile (docs/decisions/0022-lent-budgets.md).
 */
#ifndef KERNEL_VCPU_H
#define KERNEL_VCPU_H

#include "kernel/result.h"
#include "kernel/thread.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCPU_MAX        32u /* VCPUs at the same time, I/O VCPUs among them */
#define VCPU_NAME_BYTES THREAD_NAME_BYTES

enum vcpu_policy {
    SCHED_SPORADIC, /* Main VCPU */
    SCHED_PIBS,     /* I/O VCPU */
};

struct vcpu_param {
    int id;                  /* 1 .. VCPU_MAX */
    enum vcpu_policy policy; /* fixed at creation */
    uint32_t mask;           /* cores that the VCPU may run on; bit 0, or 0 for any */
    uint64_t C;              /* nanoseconds; rounded up to ticks of the counter */
    uint64_t T;              /* nanoseconds; rounded down to ticks of the counter */
    /* Nanoseconds, rounded up, at most T: for which less urgent work may hold up the threads, once
     * in a budget. Admission adds it to the VCPU's response. */
    uint64_t blocking;
    /* Threads that will be bound to it; 0: one. Admission counts their wake-ups. */
    uint32_t threads;
    char name[VCPU_NAME_BYTES]; /* for reports; may be empty */
    /* Written by a call that returns -RESULT_OVERLOADED: */
    int late_id; /* VCPU that would miss its budget; 0: the new one */
    /* Nanoseconds of demand in one period of that VCPU beyond what the processor executes in it. */
    uint64_t excess;
    /* Written by a call that returns -RESULT_TOO_SMALL: */
    uint64_t least; /* nanoseconds; the smallest C */
};

/*
 * Creates a VCPU, if every VCPU then still gets its budget in each period (schedule/admission.h),
 * also if the kernel's processor is a VCPU of a hypervisor with a budget (schedule/supply.h).
 * `param->id` is not read. Returns the id of the new VCPU, which is > 0, or an error:
 * -RESULT_INVALID (a parameter is out of range, or C > T or blocking > T after rounding),
 * -RESULT_OVERFLOW (VCPU_MAX VCPUs exist), -RESULT_NO_MEMORY, -RESULT_OVERLOADED, or
 * -RESULT_TOO_SMALL: C is below four times what the end of a budget and its return take, or twice
 * what a start of a thread and its end take. The hypervisor tells what they take, and admission
 * counts it (schedule/guest_costs.h); elsewhere the first call measures it. Thread context.
 */
int vcpu_create(struct vcpu_param *param);

/*
 * Destroys a VCPU. Threads that are bound to it are terminated if `force` is true: each ends where
 * it is; one that holds a mutex ends as soon as it has unlocked the last. What they own otherwise
 * (memory, connections) is not freed. If the caller is one of them, the call does not return.
 * Returns 0, -RESULT_NOT_FOUND, or -RESULT_BUSY if threads are bound and `force` is false. Thread
 * context.
 */
int vcpu_destroy(int id, bool force);

/* Changes C, T and the name of the VCPU `param->id`. The policy can't be changed. The counters of
 * vcpu_statistics() start again. Returns 0, or an error as vcpu_create(), or -RESULT_NOT_FOUND.
 * Thread context. */
int vcpu_setparam(struct vcpu_param *param);

/* Writes the parameters of the next VCPU, in the order of ids, and after the last those of the
 * first again. Each thread has a position of its own. Returns 0, or -RESULT_NOT_FOUND if there is
 * no VCPU. Thread context. */
int vcpu_getparam(struct vcpu_param *param);

/* Binds the calling thread to a VCPU, or to none if `id` is 0. Returns 0 or -RESULT_NOT_FOUND.
 * Thread context. */
int vcpu_bind_task(int id);

/* Binds another thread, which has not been freed. Returns 0, -RESULT_NOT_FOUND, or -RESULT_INVALID
 * for the idle thread and for a thread that has ended. Any context. */
int vcpu_bind_thread(struct thread *thread, int id);

/*
 * Declares that the caller's next blocking call waits for the work of `server`, a thread bound to
 * an I/O VCPU, which then serves the caller's VCPU: it inherits its period and priority. NULL: the
 * next call does not. Returns false, and has no effect, if `server` is bound to no I/O VCPU. Thread
 * context.
 */
bool vcpu_request_service(const struct thread *server);

/* Makes every thread that is created from now on ask `vcpu_of_thread` for its VCPU: an id, or 0 for
 * none. Interrupts are masked in that call. NULL: threads are created without VCPU. Boot. */
void vcpu_assign_by_name(int (*vcpu_of_thread)(const char *name));

struct vcpu_statistics {
    struct vcpu_param param;         /* C and T as rounded */
    uint64_t age_nanoseconds;        /* since vcpu_create() or vcpu_setparam() */
    uint64_t received_nanoseconds;   /* executed on the budget, by threads and interrupts */
    uint64_t background_nanoseconds; /* executed by its threads without budget */
    uint64_t exhaustions;            /* number of times the budget ended */
    uint64_t deadline_misses;        /* of its periodic threads */
    /* The longest time from which on a thread had work and budget, until the budget was used up or
     * no thread had work. Admission bounds it: ./bulkhead check prints the worst response. Work of
     * more than a budget takes as many of them. */
    uint64_t response_nanoseconds_max;
    /* The longest time that a thread of another VCPU, or of none, executed with a mutex locked that
     * a thread of this VCPU has locked as well. C has to include it (kernel/sync.h, mutexes). */
    uint64_t blocking_nanoseconds_max;
    size_t threads; /* bound threads */
};

/* Writes the statistics of up to `capacity` VCPUs to `statistics`. Returns the number of VCPUs,
 * which may be larger than `capacity`. Thread context. */
size_t vcpu_statistics(struct vcpu_statistics *statistics, size_t capacity);

/* Returns the time since boot in which the kernel worked and no VCPU paid, in nanoseconds: for the
 * ends of budgets and their returns, for threads without VCPU, and in interrupts that wake nobody.
 * Thread context. */
uint64_t vcpu_unpaid_nanoseconds(void);

#endif
