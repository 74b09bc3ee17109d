/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A deferrable server: a budget of C ticks that is whole again at each release, a multiple of the
 * period T of the clock. A VCPU keeps what it has not used until the next release, which then
 * replaces it (Strosnider, Lehoczky and Sha, "The Deferrable Server Algorithm", 1995).
 *
 * All servers of one period on cores that have one clock are released at the same instants. So the
 * VCPUs of a partition on several cores execute together (docs/decisions/0061-aligned-vcpus.md). A
 * sporadic server has no such instants: its budget returns one period after its use.
 *
 * To less urgent VCPUs the server is a periodic task (C, T) with a release jitter of T - C: it may
 * use a budget at the end of a period, and the next one right after it (admission.h).
 *
 * If the server uses more than its budget, the next budgets are smaller by the excess. A period
 * begins with this excess as its usage.
 *
 * `now` is at most SCHEDULE_NOW_MAX, and never less than in the charge before.
 */
#ifndef SCHEDULE_DEFERRABLE_SERVER_H
#define SCHEDULE_DEFERRABLE_SERVER_H

#include "schedule/ticks.h"
#include <stdint.h>

struct deferrable_server {
    uint64_t budget; /* C, in ticks */
    uint64_t period; /* T, in ticks */
    uint64_t
        release;    /* the last release that is counted, a multiple of T; it may be in the future */
    uint64_t usage; /* used ticks of this release's budget, less than C */
};

/* Initialises a server whose whole budget is available from `now` on. Returns SCHEDULE_OK,
 * SCHEDULE_PERIOD_OUT_OF_RANGE or SCHEDULE_BUDGET_OUT_OF_RANGE. */
enum schedule_error deferrable_server_init(struct deferrable_server *server, uint64_t budget,
                                           uint64_t period, uint64_t now);

/* Returns the time from which on the next tick of the budget is available. The server has budget if
 * this time is not in the future. */
uint64_t deferrable_server_eligible(const struct deferrable_server *server);

/* Returns the number of ticks that are left of the budget; 0 if the server has none now. */
uint64_t deferrable_server_available(const struct deferrable_server *server, uint64_t now);

/* Accounts for execution from now - `used` until `now`. Ticks before a release are taken from the
 * budget that the release replaces. The call may come late. `used`: at most `now`. */
void deferrable_server_charge(struct deferrable_server *server, uint64_t used, uint64_t now);

/* Returns the time at which the budget ends if the VCPU executes from `now` on, or else the time at
 * which the server has budget again. Execution since the last charge is not counted. */
uint64_t deferrable_server_next_event(const struct deferrable_server *server, uint64_t now);

#endif
