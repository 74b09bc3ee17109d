/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of periodic threads (kernel/periodic.h) that thread.c calls. */
#ifndef SCHED_PERIODIC_PRIVATE_H
#define SCHED_PERIODIC_PRIVATE_H

#include "kernel/thread.h"

/* Ends the releases of a thread that ends, if it is periodic. Interrupts masked. */
void periodic_end(struct thread *thread);

#endif
