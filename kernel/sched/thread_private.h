/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread is made of, for the scheduler, synchronisation and the architecture's panic
 * report. */
#ifndef SCHED_THREAD_PRIVATE_H
#define SCHED_THREAD_PRIVATE_H

#include "arch/cpu.h"
#include "kernel/list.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"

/* Every byte of a stack before its first use: no address, no small number. */
#define THREAD_STACK_FILL 0xb5u

/* What a blocked thread waits for. Meaningful in THREAD_BLOCKED only, `timer` excepted. */
struct thread_wait {
    struct wait_queue *queue; /* NULL: nothing but the deadline */
    struct mutex *mutex;      /* whose owner inherits this thread's priority; NULL: none */
    struct timer timer;       /* armed while there is a deadline */
    enum result result;       /* how the wait ended */
    /* The object's own words with the waiter. */
    uint32_t flags;   /* event flags: in, those waited for; out, as they stood */
    unsigned mode;    /* event flags: enum event_wait_mode */
    const void *send; /* message queue: the message of a blocked sender */
    void *receive;    /* message queue: where a blocked receiver wants it */
};

struct thread {
    struct arch_context context; /* first: where the architecture saves registers */
    enum thread_state state;
    unsigned base_priority;
    unsigned effective_priority; /* >= base, raised by the waiters of held mutexes */
    bool join_claimed;           /* someone waits for, or has joined, this thread */
    bool detached;
    struct list_node queue_node; /* run queue, a wait queue or the core's `finished` list */
    struct list_node level_node; /* linked if it is the first of its priority on a wait queue */
    struct list_node all_node;   /* core's list of all threads, in order of `number` */
    uint64_t number;             /* unique, ascending */
    struct thread_wait wait;
    struct list held_mutexes;  /* struct mutex by `owned` */
    struct wait_queue joiners; /* at most one thread */
    uint64_t run_ticks;        /* processor time, up to core->accounted_until if it runs */
    uint64_t switches;
    uint8_t *stack; /* lowest address */
    size_t stack_bytes;
    char name[THREAD_NAME_BYTES];
};

/* Creates a thread of any priority, the idle thread's included; ready, but does not preempt. */
enum result thread_make(struct thread **created, const struct thread_attributes *attributes,
                        void (*entry)(void *argument), void *argument);

/* Bytes of the stack that were ever in use: what differs from the fill pattern. */
size_t thread_stack_used(const struct thread *thread);

/* Frees detached threads that have ended; not on their own stacks, hence by others: the idle
 * thread, and whoever creates a thread (so that they are never in the way of a new one). Thread
 * context. */
void thread_reap(void);

#endif
