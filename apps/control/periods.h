/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop of a fixed period, and how late its turns begin. Each loop belongs to one thread.
 *
 * Lateness has two causes, which are counted apart. Either this system's own threads and interrupt
 * handlers ran when the turn was due. Or nothing else of this system ran while the loop waited, or
 * the processor slept: then the machine below did not run the processor in time, be it a hypervisor
 * or the host of an emulated machine.
 */
#ifndef CONTROL_PERIODS_H
#define CONTROL_PERIODS_H

#include <stdint.h>

struct periods {
    uint64_t length; /* nanoseconds */
    uint64_t due;    /* when the last turn was to begin */
    uint64_t count;  /* turns that began */
    /* Turns that began when the next one was due already, and nanoseconds by which the latest turn
     * began late: because of this system's own work, */
    uint64_t missed;
    uint64_t worst;
    /* and because the machine below did not run the processor. */
    uint64_t missed_asleep;
    uint64_t worst_asleep;
    uint64_t asleep; /* of the last turn's lateness: nanoseconds of the second kind */
};

/* The first turn is due `length` nanoseconds from now. */
void periods_begin(struct periods *periods, uint64_t length);

/* Sleeps until the next turn is due, and counts it. Turns are due at points in time, so that errors
 * do not add up. Thread context. */
void periods_wait(struct periods *periods);

#endif
