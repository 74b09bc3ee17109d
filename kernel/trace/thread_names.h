/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of threads in the trace, by the threads' numbers. The scheduler, which knows the
 * threads, enters them. Interrupts masked in every call; the trace is on.
 */
#ifndef TRACE_THREAD_NAMES_H
#define TRACE_THREAD_NAMES_H

#include "kernel/trace.h"
#include <stdint.h>

/* Enters a thread that exists. `vcpu` is the id of its VCPU, 0: none. If all entries are those of
 * threads that exist, the thread has no name in the trace. */
void trace_names_add(uint32_t number, uint32_t vcpu, uint32_t priority,
                     const char name[TRACE_NAME_BYTES]);

/* Returns the entry of a thread that has not ended; NULL if it has none. */
struct trace_thread *trace_names_find(uint32_t number);

/* Enters all threads that have not ended. Called when the trace is turned on. Defined in
 * sched/thread_trace.c. */
void trace_names_add_all(void);

#endif
