/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a shared core: a ring of the scheduler's latest choices, which the core alone
 * writes. Pure logic; all times are ticks of CNTPCT_EL0.
 *
 * A record has the state of the scheduler with its choice. So a reader finds from two consecutive
 * records which VCPUs have got work, and why the one that executed has stopped: it has no work, no
 * budget, or others are more urgent.
 *
 * tools/bulkhead/tracing/core_ring.py reads the ring through the machine's memory while the core
 * writes. The time of a record becomes visible last, so with its time it is whole. `written` may
 * become visible before: the reader finds that the time is less than that of the record before.
 */
#ifndef SCHEDULER_TRACE_H
#define SCHEDULER_TRACE_H

#include "scheduler/scheduler.h"
#include <stdint.h>

/* The numbers are part of the layout. */
enum trace_kind {
    TRACE_CHOICE = 0,    /* the VCPU is to execute; TRACE_NONE: none can */
    TRACE_OFF = 1,       /* the VCPU's guest does not execute from now on */
    TRACE_START = 2,     /* the VCPU's guest starts */
    TRACE_INTERRUPT = 3, /* an interrupt for the VCPU is handled, until the next choice */
};

#define TRACE_NONE 32u

/* Fields of trace_record.event. */
#define TRACE_LEVEL_SHIFT 56u /* 6 bits: of the VCPU, or TRACE_NONE */
#define TRACE_KIND_SHIFT  62u /* enum trace_kind */

/* Bit n of a set: the VCPU of level n. */
struct trace_record {
    uint64_t event;    /* kind, level, and the time in bits 55:0 */
    uint32_t runnable; /* set of the VCPUs that have work */
    uint32_t second;   /* set of those that have budget; on a core shared by weights: a boost */
};

struct trace {
    uint64_t ring;    /* address, a multiple of the size */
    uint64_t written; /* bytes of all records since the start of the machine */
};

/* Writes a record. `now`: no earlier than the time of the last one. `level`: less than 32, or
 * TRACE_NONE. The other arguments are as in struct trace_record. */
static inline void trace_write(struct trace *trace, uint64_t now, enum trace_kind kind,
                               unsigned level, uint32_t runnable, uint32_t second)
{
    const uint64_t mask = SCHEDULER_TRACE_BYTES - 1;
    uint64_t written = trace->written;
    uint64_t place = (trace->ring & ~mask) | (written & mask);
    struct trace_record *record = (struct trace_record *)(uintptr_t)place;

    record->runnable = runnable;
    record->second = second;
    __atomic_store_n(&record->event,
                     now | (uint64_t)level << TRACE_LEVEL_SHIFT |
                         (uint64_t)kind << TRACE_KIND_SHIFT,
                     __ATOMIC_RELEASE);
    trace->written = written + sizeof(struct trace_record);
}

#endif
