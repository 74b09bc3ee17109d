/* SPDX-License-Identifier: BSD-2-Clause */
/* The structure of a thread, for the scheduler, synchronisation and panic reports. */
#ifndef SCHED_THREAD_PRIVATE_H
#define SCHED_THREAD_PRIVATE_H

#include "kernel/list.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "sched/policy.h"
#include <arch/cpu.h>

/* Value of each byte of a stack before its first use: a value that is unlikely in addresses and
 * small numbers. */
#define THREAD_STACK_FILL 0xb5u

/* The wait of a thread. Valid in state THREAD_BLOCKED only, except for `timer`. */
struct thread_wait {
    struct wait_queue *queue; /* NULL: the thread waits for the deadline only */
    struct mutex *mutex;      /* its owner inherits this thread's priority; NULL: none */
    struct thread *joined;    /* thread_join() waits for this thread; NULL: none */
    struct mutex *reacquired; /* condition variable: the mutex that the thread locks afterwards */
    struct timer timer;       /* armed while there is a deadline */
    enum result result;       /* how the wait ended */
    /* Arguments and results of the object's own operation. */
    uint32_t flags;   /* event flags: in, the flags waited for; out, all flags at the end */
    unsigned mode;    /* event flags: enum event_wait_mode */
    const void *send; /* message queue: the message of a blocked sender */
    void *receive;    /* message queue: the buffer of a blocked receiver */
};

struct thread {
    struct arch_context context; /* first: where the architecture saves registers */
    enum thread_state state;
    bool join_claimed; /* a thread waits for, or has joined, this thread */
    bool detached;
    bool is_condemned;           /* ends when it unlocks its last mutex (thread_terminate()) */
    struct standing standing;    /* the policy's, which alone changes it */
    struct list_node queue_node; /* run queue, a wait queue or the core's `finished` list */
    struct list_node level_node; /* linked if it is the first of its urgency on a wait queue */
    struct list_node all_node;   /* core's list of all threads, in order of `number` */
    uint64_t number;             /* unique, ascending */
    struct thread_wait wait;
    struct list held_mutexes;  /* struct mutex by `owned` */
    struct wait_queue joiners; /* at most one thread */
    uint64_t run_ticks;        /* processor time, up to ledger.charged if it runs */
    uint64_t switches;
    struct periodic *periodic; /* NULL: not a periodic thread */
    uint64_t deadline_misses;  /* of its periodic work, ended work included */
    uint8_t *stack;            /* lowest address */
    size_t stack_bytes;
    char name[THREAD_NAME_BYTES];
};

/* Returns how urgent the thread is: its own urgency, or what a waiter has lent it. */
static inline unsigned thread_urgency(const struct thread *thread)
{
    return thread->standing.urgency;
}

/* Returns the VCPU that pays for the thread's time, and for the kernel's work for it; NULL: none.
 */
static inline struct vcpu *thread_payer(const struct thread *thread)
{
    return thread->standing.charged;
}

static inline bool thread_is_runnable(const struct thread *thread)
{
    return thread->state == THREAD_READY || thread->state == THREAD_RUNNING;
}

/* Returns true if the thread holds no mutex and waits in no wait queue: its urgency is its own, and
 * nobody inherits it. */
static inline bool thread_stands_alone(const struct thread *thread)
{
    return list_is_empty(&thread->held_mutexes) && thread->wait.queue == NULL;
}

/* Creates a thread of any priority, also THREAD_PRIORITY_IDLE. It is ready, and preempts at the end
 * of the call if it is more urgent. Returns RESULT_OK or RESULT_NO_MEMORY. Thread context or boot.
 */
enum result thread_make(struct thread **created, const struct thread_attributes *attributes,
                        void (*entry)(void *argument), void *argument);

/* Returns the number of bytes of the stack that were ever used: those from the lowest byte that
 * differs from the fill pattern up. */
size_t thread_stack_used(const struct thread *thread);

/*
 * Ends a thread where it is. The running thread, and one that holds a mutex, ends when it unlocks
 * its last mutex. What the thread owns otherwise is not freed. Interrupts masked.
 */
void thread_terminate(struct thread *thread);

/* Frees detached threads that have ended. A thread cannot free the stack that it runs on, so the
 * idle thread and each thread_create() call this. Thread context. */
void thread_reap(void);

#endif
