/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits that keep the processor, in unit tests. */
#ifndef ARCH_WAIT_H
#define ARCH_WAIT_H

#include <sched.h>

/* Gives other threads of the test their turn. Any context. */
static inline void arch_yield(void)
{
    (void)sched_yield();
}

#endif
