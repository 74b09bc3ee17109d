/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The longest time for which two VCPUs of a partition, on two cores, do not execute at the same
 * instant although both have work. While they do not, one that waits for the other waits longer:
 * for an IPI's handler, for the owner of a spinlock.
 *
 * Both servers have C ticks in each period of T. `lag` of a VCPU is the longest time for which it
 * does not execute between a release and the end of its budget: its response on the core less C,
 * what it used beyond an earlier budget, and the changes to it and from it. `overrun` is what it
 * uses beyond an earlier budget at most. D and E are the lags, and M is the larger one.
 *
 * Aligned VCPUs (deferrable_server.h) have common releases. Consider the period from a release g on
 * and let both have work. If M + overrun < C for both:
 *
 * 1. They execute together before g + D + E. Until then, one executes only while the other does
 *    not, so that the first has executed for at most E, and the second for at most D. So neither
 *    has used its budget, and neither does not execute for longer than its lag.
 * 2. They execute together until g + C - M or later. Let the last instant be g + l, and let the
 *    first VCPU be the one that uses up its budget first. From then on it executes only while the
 *    other has budget left and does not execute, which is at most M. So it has executed C - M
 *    before.
 *
 * From 2. in one period to 1. in the next there are at most T - C + M + D + E ticks. It is no more
 * if one of them gets work within the period: then the one whose budget ends first has no more than
 * M ticks of it left.
 *
 * Servers of more than half of the core (2 C > T) must meet, aligned or not. Each executes at least
 * supply_within() ticks of an interval (supply.h, with C less the overrun, the lag as delay, and no
 * costs). If two of them are more than the interval, the VCPUs execute together in it.
 */
#ifndef SCHEDULE_OVERLAP_H
#define SCHEDULE_OVERLAP_H

#include "schedule/ticks.h"
#include <stdint.h>

struct overlap_vcpu {
    uint64_t lag;     /* ticks, at most SCHEDULE_PERIOD_MAX */
    uint64_t overrun; /* ticks, at most SCHEDULE_PERIOD_MAX */
};

/* Returns the bound for aligned VCPUs in ticks; SCHEDULE_NEVER if there is none. `budget`,
 * `period`: valid by schedule_check_parameters(). */
uint64_t overlap_of_aligned(uint64_t budget, uint64_t period, const struct overlap_vcpu *one,
                            const struct overlap_vcpu *other);

/* Returns the bound for VCPUs with any servers in ticks; SCHEDULE_NEVER if there is none.
 * `waiting`: ticks of a budget, less than `budget`, that may wait for the next one (struct supply).
 */
uint64_t overlap_of_any(uint64_t budget, uint64_t period, uint64_t waiting,
                        const struct overlap_vcpu *one, const struct overlap_vcpu *other);

#endif
