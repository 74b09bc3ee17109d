/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of memory management: disabled preemption. Only threads allocate pages and heap, so that
 * this is sufficient, and interrupts are not delayed. */
#include "mm/memory_lock.h"

#include "sched/scheduler.h"

void memory_lock(void)
{
    scheduler_preemption_disable();
}

void memory_unlock(void)
{
    scheduler_preemption_enable();
}
