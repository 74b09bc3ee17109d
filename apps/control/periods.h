/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop of a fixed period, and how late its turns begin. Each loop belongs to one thread.
 *
 * Lateness has two causes, which are counted apart. Either this system's own threads and interrupt
 * handlers ran when the turn was due. Or the processor slept, and nothing here was in the way: then
 * what lies below did not wake it in time, the hypervisor, the machine, or the host of an emulated
 * machine that ran something else.
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
    /* and because the processor slept on. */
    uint64_t missed_asleep;
    uint64_t worst_asleep;
    uint64_t asleep; /* of the last turn's lateness: nanoseconds that the processor slept */
};

/* The first turn is due `length` nanoseconds from now. */
void periods_begin(struct periods *periods, uint64_t length);

/* Sleeps until the next turn is due, and counts it. Turns are due at points in time, so that errors
 * do not add up. Thread context. */
void periods_wait(struct periods *periods);

#endif
