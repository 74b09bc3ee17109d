/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heartbeat of a VCPU (arch/heartbeat.h): whether its guest has changed its count since the
 * last look. Logic without a clock. Times are ticks of one counter.
 */
#ifndef WATCHDOG_HEARTBEAT_H
#define WATCHDOG_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: there is no look. */
struct heartbeat {
    uint64_t beats;    /* count at the last look */
    uint64_t next;     /* time of the next look; 0: there is none */
    uint64_t start;    /* time at which the first beat is overdue; 0: never */
    uint64_t is_armed; /* 1: the guest has beaten, so a count that does not change is an error */
};

/* Times in ticks. */
struct heartbeat_limits {
    uint64_t period; /* between two looks */
    uint64_t start;  /* in which the first beat has to follow the start of the guest; 0: any time */
};

/* The guest starts at `now`, with this count. */
void heartbeat_begin(struct heartbeat *heartbeat, const struct heartbeat_limits *limits,
                     uint64_t beats, uint64_t now);

/* Looks at the count if it is time to. Returns true if the guest has failed to beat: its count has
 * not changed since the last look, or the first beat is overdue. Then the next beat arms the
 * heartbeat again, so an interruption is reported once. A look that is late is followed by a whole
 * period. */
bool heartbeat_look(struct heartbeat *heartbeat, const struct heartbeat_limits *limits,
                    uint64_t beats, uint64_t now);

#endif
