/* SPDX-License-Identifier: BSD-2-Clause */
/* The operation on mutexes that condition variables need. */
#ifndef SYNC_MUTEX_PRIVATE_H
#define SYNC_MUTEX_PRIVATE_H

#include "kernel/sync.h"
#include "kernel/thread.h"

/*
 * Ends the wait of a thread that is blocked on the queue of another object, with RESULT_OK, as soon
 * as it owns the mutex: at once if the mutex is free, and otherwise when its turn comes among the
 * waiters for the mutex. The thread's deadline no longer applies. Any context, interrupts masked.
 */
void mutex_grant(struct mutex *mutex, struct thread *thread);

#endif
