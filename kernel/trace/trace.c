/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of events, and the tables of names. */
#include "kernel/trace.h"

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/report.h"
#include "time/clock.h"
#include "trace/thread_names.h"
#include <arch/cpu.h>
#include <string.h>

_Static_assert(offsetof(struct trace, events) % sizeof(uint64_t) == 0, "layout");
_Static_assert((TRACE_THREADS & (TRACE_THREADS - 1)) == 0, "layout");

struct trace *trace_ring;

/* Out of line, so that a point of the trace takes little room in the code that it observes. */
__attribute__((noinline)) void trace_write(enum trace_kind kind, uint32_t subject,
                                           uint32_t argument)
{
    struct trace *trace = trace_ring;
    uint64_t index = trace->written;
    struct trace_event *event = &trace->events[index & (trace->capacity - 1)];

    event->kind_and_ticks =
        (uint64_t)kind << TRACE_KIND_SHIFT | (arch_clock_ticks() & TRACE_TICKS_MASK);
    event->subject = subject;
    event->argument = argument;
    __atomic_store_n(&trace->written, index + 1, __ATOMIC_RELEASE);
}

/*
 * The table of threads is a hash table by the number: a thread has the first entry from its home on
 * that was not live when the thread was created. The number of threads is much smaller than the
 * table, so the first entry is nearly always that one. A thread for which there is no entry has no
 * name in the trace.
 */
static struct trace_thread *entry_at(uint32_t place)
{
    return &trace_ring->threads[place % TRACE_THREADS];
}

static struct trace_thread *find_free(uint32_t number)
{
    for (uint32_t step = 0; step < TRACE_THREADS; step++) {
        if (entry_at(number + step)->state != TRACE_NAME_LIVE) {
            return entry_at(number + step);
        }
    }
    return NULL;
}

struct trace_thread *trace_names_find(uint32_t number)
{
    for (uint32_t step = 0; step < TRACE_THREADS; step++) {
        struct trace_thread *entry = entry_at(number + step);

        if (entry->state == TRACE_NAME_LIVE && entry->number == number) {
            return entry;
        }
    }
    return NULL;
}

void trace_names_add(uint32_t number, uint32_t vcpu, uint32_t priority,
                     const char name[TRACE_NAME_BYTES])
{
    struct trace_thread *entry = find_free(number);

    if (entry != NULL) {
        entry->number = number;
        entry->vcpu = vcpu;
        entry->priority = priority;
        memcpy(entry->name, name, sizeof(entry->name));
        entry->state = TRACE_NAME_LIVE;
    }
}

/* Returns the entry of a VCPU, NULL if the table has none for this id. */
static struct trace_vcpu *vcpu_entry(int id)
{
    return id >= 1 && id <= (int)TRACE_VCPUS ? &trace_ring->vcpus[id - 1] : NULL;
}

void trace_vcpu_created(int id, const char *name, unsigned policy, uint64_t budget_ticks,
                        uint64_t period_ticks)
{
    struct trace_vcpu *entry;

    if (trace_ring == NULL) {
        return;
    }
    entry = vcpu_entry(id);
    if (entry != NULL) {
        *entry = (struct trace_vcpu){.state = TRACE_NAME_LIVE,
                                     .policy = policy,
                                     .budget_ticks = budget_ticks,
                                     .period_ticks = period_ticks};
        memcpy(entry->name, name, strnlen(name, TRACE_NAME_BYTES - 1));
    }
    trace_write(TRACE_VCPU_CREATE, (uint32_t)id, policy);
}

void trace_vcpu_destroyed(int id)
{
    struct trace_vcpu *entry;

    if (trace_ring == NULL) {
        return;
    }
    entry = vcpu_entry(id);
    if (entry != NULL) {
        entry->state = TRACE_NAME_ENDED;
    }
    trace_write(TRACE_VCPU_DESTROY, (uint32_t)id, 0);
}

/* Makes the ring the current one. Threads that exist already get their names. */
static void turn_on(struct trace *trace)
{
    interrupt_state state = interrupts_save();

    trace_ring = trace;
    trace_names_add_all();
    interrupts_restore(state);
}

enum result trace_start(size_t events)
{
    size_t capacity = TRACE_EVENTS_MIN;

    if (events > TRACE_EVENTS_MAX) {
        return RESULT_INVALID;
    }
    if (trace_ring != NULL) {
        return RESULT_BUSY;
    }
    while (capacity * 2 <= events) {
        capacity *= 2;
    }
    size_t bytes = sizeof(struct trace) + capacity * sizeof(struct trace_event);
    struct trace *trace = page_allocate((bytes + PAGE_BYTES - 1) / PAGE_BYTES, PAGE_BYTES);

    if (trace == NULL) {
        return RESULT_NO_MEMORY;
    }
    memset(trace, 0, bytes);
    trace->frequency = arch_clock_frequency();
    trace->start_ticks = clock_alarm_ticks(0);
    trace->capacity = (uint32_t)capacity;
    trace->event_bytes = sizeof(struct trace_event);
    trace->thread_count = TRACE_THREADS;
    trace->vcpu_count = TRACE_VCPUS;
    turn_on(trace);
    report_publish(REPORT_TRACE, TRACE_VERSION, trace, bytes);
    return RESULT_OK;
}

void trace_stop(void)
{
    interrupt_state state = interrupts_save();

    trace_ring = NULL;
    interrupts_restore(state);
}
