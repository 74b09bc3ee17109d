/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of threads, and the names of threads in the trace. */
#include "sched/thread_trace.h"

#include "sched/core.h"
#include "trace/thread_names.h"

/* Returns the id of the VCPU that the thread is bound to, 0 if there is none. */
static uint32_t vcpu_of(const struct thread *thread)
{
    const struct vcpu *vcpu = thread->standing.bound;

    return vcpu == NULL ? 0 : (uint32_t)vcpu->id;
}

static void add_name(const struct thread *thread)
{
    trace_names_add((uint32_t)thread->number, vcpu_of(thread), thread_priority(thread),
                    thread->name);
}

void trace_names_add_all(void)
{
    LIST_FOR_EACH(node, &core_this()->threads)
    {
        const struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        if (thread->state != THREAD_FINISHED) {
            add_name(thread);
        }
    }
}

void trace_write_created(const struct thread *thread)
{
    add_name(thread);
    trace_write(TRACE_CREATE, (uint32_t)thread->number, vcpu_of(thread));
}

void trace_write_ended(const struct thread *thread)
{
    uint32_t number = (uint32_t)thread->number;
    struct trace_thread *entry = trace_names_find(number);

    if (entry != NULL) {
        entry->state = TRACE_NAME_ENDED;
    }
    trace_write(TRACE_END, number, 0);
}

void trace_thread_bound(const struct thread *thread, int id)
{
    uint32_t number = (uint32_t)thread->number;
    struct trace_thread *entry;

    if (trace_ring == NULL) {
        return;
    }
    entry = trace_names_find(number);
    if (entry != NULL) {
        entry->vcpu = (uint32_t)id;
    }
    trace_write(TRACE_BIND, number, (uint32_t)id);
}

void trace_deadline_missed(const struct thread *thread)
{
    trace_event(TRACE_DEADLINE_MISS, (uint32_t)thread->number, 0);
}
