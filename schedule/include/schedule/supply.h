/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor time that a guest receives at least if its VCPU is a server on a shared core, for
 * the admission of VCPUs inside the guest (docs/decisions/0051-supply-of-a-budget.md).
 *
 * The server has C ticks in each period of T. R is its worst response by the admission of the core
 * (admission.h). Consider an interval [a, a + t) in which the guest has work throughout.
 *
 * 1. Each tick of the budget has a time from which on it is available, and is executed at most
 *    R - C ticks after that time. For a busy window of the server's priority begins at some b, all
 *    its ticks of budget are available at b or later, and those of them before the tick in question
 *    are m at most. R(m + 1) is the least R for a budget of m + 1 ticks; R(m + 1) <= R - (C - m -
 * 1), because the interference in R - (C - m - 1) is no more than that in R. The tick is executed
 *    before b + R(m + 1), and is not available before b + m.
 * 2. At time a, every tick of the budget is available before a + T: it was used at a - 1 or before,
 *    and a tick that waits for another one waits for one that was used. The times are distinct. So
 *    number k of the C ticks, from 0, is available at a + T - C + k or before.
 * 3. In the interval the VCPU does not block, so no replenishment is divided. If a smallest piece
 *    of q ticks is set, replenishments behind the head have q ticks or more, except for the last.
 *    Within the first round, the last one may wait for the next one that is appended, and both for
 *    the next after that, as long as they have less than q ticks together. So less than q ticks of
 *    the budget wait, until just before ticks of the following budget. From then on all pieces have
 *    q ticks or more, and return after T.
 *
 * The ticks of budget number n, from 0, are so available at a + n T + (T - C) + k, except for the
 * last q - 1: these are available just before the first tick of budget n + 1. All are executed at
 * most R - C ticks later.
 *
 * The hypervisor charges a VCPU for the changes to it and from it, at most `cost` ticks for each
 * piece. Consecutive ticks of the budget, m of them, are in m / q + 3 pieces at most: the first and
 * the last in part, and one that has less than q ticks.
 *
 * A PIBS server (pibs_server.h) has one replenishment: no tick waits for another one, and a piece
 * is the whole budget.
 */
#ifndef SCHEDULE_SUPPLY_H
#define SCHEDULE_SUPPLY_H

#include "schedule/ticks.h"
#include <stdbool.h>
#include <stdint.h>

/* Ticks. A budget of 0 guarantees nothing. */
struct supply {
    uint64_t budget;  /* C */
    uint64_t period;  /* T */
    uint64_t delay;   /* R - C: from when a tick of the budget is available to its execution */
    uint64_t waiting; /* q - 1: ticks of a budget that may wait for the next one */
    uint64_t piece;   /* q: least ticks of a piece; the budget of a PIBS server */
    uint64_t cost;    /* of each piece, for the hypervisor */
};

/* Returns true if the functions below accept the supply: a budget of 0, or 1 <= C <= T <=
 * SCHEDULE_PERIOD_MAX, waiting < C, 1 <= piece <= C, and delay and cost of SCHEDULE_PERIOD_MAX at
 * most. */
bool supply_is_valid(const struct supply *supply);

/* Returns a supply in ticks of a clock of `frequency` Hz, for one in nanoseconds, whose members are
 * at most SCHEDULE_PERIOD_MAX ticks. All roundings make it less. A budget of less than a tick
 * guarantees nothing. */
struct supply supply_in_ticks(const struct supply *nanoseconds, uint64_t frequency);

/* Returns the least number of ticks that the guest executes in an interval of `time` ticks in which
 * it has work throughout. `time`: at most SCHEDULE_NOW_MAX. */
uint64_t supply_within(const struct supply *supply, uint64_t time);

/* Returns the least time for which supply_within() returns `ticks` or more; SCHEDULE_NEVER if there
 * is none up to SCHEDULE_NOW_MAX. */
uint64_t supply_time(const struct supply *supply, uint64_t ticks);

#endif
