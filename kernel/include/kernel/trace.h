/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace: a ring of the latest scheduling events, with the names of threads and VCPUs. The boot
 * argument `trace=EVENTS` turns it on. `./bulkhead trace` reads the ring from outside
 * (kernel/report.h, REPORT_TRACE) while the guest runs. While the trace is off, an event costs one
 * load and one branch.
 *
 * The functions below are called with interrupts masked, unless it says otherwise.
 */
#ifndef KERNEL_TRACE_H
#define KERNEL_TRACE_H

#include "kernel/result.h"
#include "kernel/thread.h"
#include <stddef.h>
#include <stdint.h>

#define TRACE_VERSION 1u

/* The numbers are part of the layout. A thread is named by its number, a VCPU by its id. */
enum trace_kind {
    TRACE_SWITCH = 1,        /* the thread begins to run; argument: the thread before, not ready */
    TRACE_PREEMPT = 2,       /* as TRACE_SWITCH, but the thread before is still ready */
    TRACE_READY = 3,         /* the thread becomes ready; argument: enum result of its wait */
    TRACE_BLOCK = 4,         /* the thread blocks; argument: TRACE_WAIT() */
    TRACE_CREATE = 5,        /* the thread was created; argument: its VCPU, 0 for none */
    TRACE_END = 6,           /* the thread has ended */
    TRACE_BIND = 7,          /* the thread was bound; argument: the VCPU, 0 for none */
    TRACE_DEADLINE_MISS = 8, /* the thread missed a deadline */
    TRACE_INTERRUPT_ENTRY = 9,     /* number of the interrupt */
    TRACE_INTERRUPT_EXIT = 10,     /* the same */
    TRACE_VCPU_CREATE = 11,        /* the VCPU was created, or got other parameters */
    TRACE_VCPU_DESTROY = 12,       /* the VCPU was destroyed */
    TRACE_VCPU_EXHAUSTED = 13,     /* the VCPU has used its budget */
    TRACE_VCPU_REPLENISHED = 14,   /* the VCPU got budget; argument: ticks, at most UINT32_MAX */
    TRACE_VCPU_RUNNABLE = 15,      /* a first thread of the VCPU is ready */
    TRACE_VCPU_BLOCKED = 16,       /* no thread of the VCPU is ready */
    TRACE_CHANNEL_NOTIFY = 17,     /* index of the channel, whose other end is notified */
    TRACE_CHANNEL_DOORBELL = 18,   /* index of the channel, whose other end has notified this one */
    TRACE_CHANNEL_STATE = 19,      /* index of the channel; argument: the new state of this end */
    TRACE_CHANNEL_CONNECTION = 20, /* index of the channel; argument: TRACE_CONNECTION() */
    TRACE_CHANNEL_SLEEP = 21,      /* index of the channel, for whose doorbell a thread waits */
};

/* The argument of TRACE_BLOCK: enum wait_kind in bits 31:28; bits 30:3 of the object's address in
 * bits 27:0, which tell objects apart. */
#define TRACE_WAIT_KIND_SHIFT 28u
#define TRACE_OBJECT_SHIFT    3u
#define TRACE_OBJECT_MASK     UINT32_C(0x0fffffff)

/* The argument of TRACE_CHANNEL_CONNECTION: enum channel_state in bits 3:0, enum channel_error_kind
 * in bits 7:4, and the low bits of this life's generation in bits 31:8. */
#define TRACE_CONNECTION_ERROR_SHIFT      4u
#define TRACE_CONNECTION_GENERATION_SHIFT 8u
#define TRACE_CONNECTION(state, error, generation)       \
    ((state) | (error) << TRACE_CONNECTION_ERROR_SHIFT | \
     (generation) << TRACE_CONNECTION_GENERATION_SHIFT)

#define TRACE_KIND_SHIFT 56u
#define TRACE_TICKS_MASK ((UINT64_C(1) << TRACE_KIND_SHIFT) - 1)

struct trace_event {
    uint64_t kind_and_ticks; /* enum trace_kind in bits 63:56, the counter's value below */
    uint32_t subject;        /* thread, VCPU, interrupt or channel */
    uint32_t argument;
};

enum trace_name_state { TRACE_NAME_FREE = 0, TRACE_NAME_LIVE = 1, TRACE_NAME_ENDED = 2 };

#define TRACE_THREADS    64u /* threads whose names are kept; a power of two */
#define TRACE_VCPUS      32u
#define TRACE_EVENTS_MIN 64u
#define TRACE_EVENTS_MAX (UINT32_C(1) << 22)
#define TRACE_NAME_BYTES THREAD_NAME_BYTES

/* The name of a thread stays after its end, until another thread needs the entry. */
struct trace_thread {
    uint32_t state; /* enum trace_name_state */
    uint32_t number;
    uint32_t vcpu; /* 0: none */
    uint32_t priority;
    char name[TRACE_NAME_BYTES];
};

/* Entry n is that of the VCPU n + 1. */
struct trace_vcpu {
    uint32_t state; /* enum trace_name_state */
    uint32_t policy;
    uint64_t budget_ticks;
    uint64_t period_ticks;
    char name[TRACE_NAME_BYTES];
};

/* The report. Event n of all events since the start is events[n % capacity]. */
struct trace {
    uint64_t frequency;    /* Hz of the counter */
    uint64_t start_ticks;  /* value of the counter when time_now() was 0 */
    uint64_t written;      /* number of events since the start; stored after the event */
    uint32_t capacity;     /* number of events in the ring; a power of two */
    uint32_t event_bytes;  /* sizeof(struct trace_event) */
    uint32_t thread_count; /* TRACE_THREADS */
    uint32_t vcpu_count;   /* TRACE_VCPUS */
    uint64_t reserved[3];
    struct trace_thread threads[TRACE_THREADS];
    struct trace_vcpu vcpus[TRACE_VCPUS];
    struct trace_event events[];
};

/* Private: the ring; NULL while the trace is off. */
extern struct trace *trace_ring;

/* Private: writes an event; the trace is on. */
void trace_write(enum trace_kind kind, uint32_t subject, uint32_t argument);

static inline void trace_event(enum trace_kind kind, uint32_t subject, uint32_t argument)
{
    if (__builtin_expect(trace_ring != NULL, 0)) {
        trace_write(kind, subject, argument);
    }
}

/*
 * Turns the trace on, with a new ring of `events`, rounded down to a power of two, and at least
 * TRACE_EVENTS_MIN. VCPUs that exist already have no names in the trace. Returns RESULT_OK,
 * RESULT_INVALID (more than TRACE_EVENTS_MAX), RESULT_BUSY (it is on) or RESULT_NO_MEMORY. Boot or
 * thread context, interrupts enabled or masked.
 */
enum result trace_start(size_t events);

/* Turns the trace off. The ring stays, and tools can read it: a program that calls this when it
 * detects a fault keeps the events before the fault. Any context, interrupts enabled or masked. */
void trace_stop(void);

/* Record that a VCPU was created or got other parameters, and that it was destroyed. `name` may be
 * empty. */
void trace_vcpu_created(int id, const char *name, unsigned policy, uint64_t budget_ticks,
                        uint64_t period_ticks);

void trace_vcpu_destroyed(int id);

/* Records that a VCPU has used its budget. */
static inline void trace_vcpu_exhausted(int id)
{
    trace_event(TRACE_VCPU_EXHAUSTED, (uint32_t)id, 0);
}

/* Records that a VCPU got budget. */
static inline void trace_vcpu_replenished(int id, uint64_t ticks)
{
    trace_event(TRACE_VCPU_REPLENISHED, (uint32_t)id,
                ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX);
}

/* Records that a first thread of a VCPU became ready. */
static inline void trace_vcpu_runnable(int id)
{
    trace_event(TRACE_VCPU_RUNNABLE, (uint32_t)id, 0);
}

/* Records that the last ready thread of a VCPU blocked or ended. */
static inline void trace_vcpu_blocked(int id)
{
    trace_event(TRACE_VCPU_BLOCKED, (uint32_t)id, 0);
}

/* Records that the other end of a channel is about to be notified. */
static inline void trace_channel_notify(uint32_t index)
{
    trace_event(TRACE_CHANNEL_NOTIFY, index, 0);
}

/* Records that the other end of a channel has notified this one. */
static inline void trace_channel_doorbell(uint32_t index)
{
    trace_event(TRACE_CHANNEL_DOORBELL, index, 0);
}

/* Records that this end of a channel is about to change its state. */
static inline void trace_channel_state(uint32_t index, uint32_t state)
{
    trace_event(TRACE_CHANNEL_STATE, index, state);
}

/* Records that the connection of a channel of messages has another state, or this end another life.
 */
static inline void trace_channel_connection(uint32_t index, uint32_t state, uint32_t error,
                                            uint32_t generation)
{
    trace_event(TRACE_CHANNEL_CONNECTION, index, TRACE_CONNECTION(state, error, generation));
}

/* Records that a thread is about to wait for the doorbell of a channel. */
static inline void trace_channel_sleep(uint32_t index)
{
    trace_event(TRACE_CHANNEL_SLEEP, index, 0);
}

#endif
