/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop of a fixed period, and how late its turns begin. Each belongs to one thread. */
#ifndef CONTROL_PERIODS_H
#define CONTROL_PERIODS_H

#include <stdint.h>

struct periods {
    uint64_t length; /* nanoseconds */
    uint64_t due;    /* when the last turn was to begin */
    uint64_t count;  /* turns that began */
    uint64_t missed; /* those of them that began when the next one was due already */
    uint64_t worst;  /* nanoseconds by which the latest of them began late */
};

/* The first turn is due `length` nanoseconds from now. */
void periods_begin(struct periods *periods, uint64_t length);

/* Sleeps until the next turn is due, and counts it. Turns are due at points in time, so that errors
 * do not add up. Thread context. */
void periods_wait(struct periods *periods);

#endif
