/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of threads in the trace. Interrupts masked in every call. */
#ifndef SCHED_THREAD_TRACE_H
#define SCHED_THREAD_TRACE_H

#include "kernel/trace.h"
#include "sched/thread_private.h"

/* Private: enters a thread's name, and writes the event; the trace is on. */
void trace_write_created(const struct thread *thread);
void trace_write_ended(const struct thread *thread);

/* A thread was created; it is not ready yet. */
static inline void trace_thread_created(const struct thread *thread)
{
    if (__builtin_expect(trace_ring != NULL, 0)) {
        trace_write_created(thread);
    }
}

/* A thread has ended. */
static inline void trace_thread_ended(const struct thread *thread)
{
    if (__builtin_expect(trace_ring != NULL, 0)) {
        trace_write_ended(thread);
    }
}

/* `next` runs from now on. `previous` has the state THREAD_RUNNING if it is still ready. */
static inline void trace_switch(const struct thread *previous, const struct thread *next)
{
    trace_event(previous->state == THREAD_RUNNING ? TRACE_PREEMPT : TRACE_SWITCH,
                (uint32_t)next->number, (uint32_t)previous->number);
}

/* A thread became ready. Its wait.result is valid, or 0 if it is new. */
static inline void trace_thread_ready(const struct thread *thread)
{
    trace_event(TRACE_READY, (uint32_t)thread->number, (uint32_t)thread->wait.result);
}

/* A thread blocks on `queue`; NULL: it sleeps. */
static inline void trace_thread_blocked(const struct thread *thread, const struct wait_queue *queue)
{
    if (__builtin_expect(trace_ring != NULL, 0)) {
        enum wait_kind kind = queue == NULL ? WAIT_SLEEP : queue->kind;

        trace_write(TRACE_BLOCK, (uint32_t)thread->number,
                    (uint32_t)kind << TRACE_WAIT_KIND_SHIFT |
                        ((uint32_t)((uintptr_t)queue >> TRACE_OBJECT_SHIFT) & TRACE_OBJECT_MASK));
    }
}

/* Records that a thread was bound to a VCPU, or to none if `id` is 0. */
void trace_thread_bound(const struct thread *thread, int id);

/* Records that a periodic thread missed its deadline. */
void trace_deadline_missed(const struct thread *thread);

#endif
