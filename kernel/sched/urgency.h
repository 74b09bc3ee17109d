/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Urgency: the number by which runnable threads are chosen and waiting threads are served; a larger
 * number first. It is a level, and within the level the thread's priority. Level 0 is the
 * background: threads without a VCPU, or whose VCPU has no budget. Each Main VCPU with budget has a
 * level of its own, so that its threads are ordered among themselves by their priorities.
 */
#ifndef SCHED_URGENCY_H
#define SCHED_URGENCY_H

#include "kernel/thread.h"

#define URGENCY_LEVELS     64u
#define URGENCY_BACKGROUND 0u /* level */

static inline unsigned urgency_make(unsigned level, unsigned priority)
{
    return level * THREAD_PRIORITY_COUNT + priority;
}

static inline unsigned urgency_level(unsigned urgency)
{
    return urgency / THREAD_PRIORITY_COUNT;
}

static inline unsigned urgency_priority(unsigned urgency)
{
    return urgency % THREAD_PRIORITY_COUNT;
}

#endif
