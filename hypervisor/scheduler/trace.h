/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a shared core: a ring of the scheduler's last choices, which only this core writes
 * (docs/decisions/0033). Pure logic. All times are ticks of CNTPCT_EL0.
 *
 * A record has the state of the scheduler at its choice. So a reader finds from two consecutive
 * records which VCPUs got work, and why the VCPU that executed has stopped: it has no work, it has
 * no budget, or another VCPU is more urgent.
 *
 * tools/bulkhead/tracing/core_ring.py reads the ring through the machine's memory while the core
 * writes. The word with the time is stored last, so a record whose time is visible is complete.
 * `written` may become visible before that word; then the reader finds an old time, which is less
 * than that of the record before.
 */
#ifndef SCHEDULER_TRACE_H
#define SCHEDULER_TRACE_H

#include "scheduler/scheduler.h"
#include <stdint.h>

/* Kinds of records. The numbers are part of the layout. */
enum trace_kind {
    TRACE_CHOICE = 0, /* the VCPU was chosen; TRACE_NONE: the core is idle */
    TRACE_OFF = 1,    /* the VCPU's guest stops executing */
    TRACE_START = 2,  /* the VCPU's guest starts */
    /* An interrupt for the VCPU is handled, and charged to it until the next choice. */
    TRACE_INTERRUPT = 3,
};

#define TRACE_NONE 32u

/* Fields of trace_record.event. */
#define TRACE_LEVEL_SHIFT 56u /* 6 bits: level of the VCPU, or TRACE_NONE */
#define TRACE_KIND_SHIFT  62u /* enum trace_kind */

/* A record. Bit n of a set is the VCPU of level n. */
struct trace_record {
    uint64_t event;    /* kind, level, and the time in bits 55:0 */
    uint32_t runnable; /* set of the VCPUs that have work */
    /* Set of the VCPUs that have budget. On a core shared by weights: set of the VCPUs that have a
     * boost. */
    uint32_t second;
};

struct trace {
    uint64_t ring;    /* address of the ring, a multiple of its size */
    uint64_t written; /* number of bytes of all records since the start of the machine */
};

/* Writes a record. `now`: not before the time of the last record. `level`: less than 32, or
 * TRACE_NONE. `runnable`, `second`: the sets of struct trace_record. */
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
