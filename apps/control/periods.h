/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A periodic thread (kernel/periodic.h) that measures how late its turns begin, and what caused it.
 * Each loop belongs to one thread.
 *
 * Lateness has two causes, which are counted separately. Either this system's own threads and
 * interrupt handlers ran when the turn was due. Or nothing else of this system ran while the loop
 * waited, or the processor slept: then the machine below (a hypervisor, or the host of an emulated
 * machine) did not run the processor in time.
 */
#ifndef CONTROL_PERIODS_H
#define CONTROL_PERIODS_H

#include "kernel/periodic.h"
#include <stdint.h>

struct periods {
    struct periodic periodic;
    uint64_t length; /* nanoseconds */
    uint64_t count;  /* number of turns so far */
    /* Turns that began after the next one was due, and the greatest lateness in nanoseconds, caused
     * by this system's own work. */
    uint64_t missed;
    uint64_t worst;
    /* The same, caused by the machine below, which did not run the processor. */
    uint64_t missed_asleep;
    uint64_t worst_asleep;
    uint64_t asleep; /* nanoseconds of the last turn's lateness caused by the machine below */
};

/* Makes the calling thread periodic. The first turn is due `length` nanoseconds, > 0, from now.
 * Panics if the thread is periodic already. */
void periods_begin(struct periods *periods, uint64_t length);

/* Waits until the next turn is due, and counts it. A late turn is not left out: the turns after it
 * follow at once until the loop has caught up. Thread context. */
void periods_wait(struct periods *periods);

#endif
