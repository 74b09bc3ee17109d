/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PIBS server (priority-inheritance bandwidth-preserving), for an I/O VCPU.
 *
 * The server has a utilization U and serves Main VCPUs, one period at a time: it runs at the
 * priority of the VCPU that it serves, whose period T it inherits, with a budget of U * T. It
 * remembers one replenishment alone, so that frequent short bursts of execution cost no memory and
 * no budget (Quest-V, 3.3; Danish, Li and West, "Virtual-CPU Scheduling in the Quest Operating
 * System", 2011).
 *
 *   block, or end of the budget   the eligible time e grows by usage / U; a new budget is available
 *                                 from e on.
 *   unblock while blocked         e is now, unless it is later; the period is inherited.
 *   unblock while active          another request: the period is inherited if it is shorter.
 *
 * A request of a shorter period T withdraws the budget that was granted beyond U * T, and forfeits
 * the time that the server waited at the lower priority: execution from then on delays e as if the
 * used part had just been paid. Otherwise a budget and a delay of a low priority would be used up
 * at a high one; the proof in admission.h needs this. A caller may give the server a lower priority
 * than that of its period while no VCPU waits for it. When it restores the higher one, it calls
 * pibs_server_raise(), which forfeits the same time.
 *
 * Charge only what was executed at foreground priority. `now` is at most SCHEDULE_NOW_MAX and never
 * less than in the call before.
 */
#ifndef SCHEDULE_PIBS_SERVER_H
#define SCHEDULE_PIBS_SERVER_H

#include "schedule/ticks.h"
#include <stdbool.h>
#include <stdint.h>

struct pibs_server {
    uint64_t share_budget; /* the utilization U is share_budget / share_period */
    uint64_t share_period;
    uint64_t period;   /* inherited period in ticks; valid while active */
    uint64_t eligible; /* time from which on the budget is available */
    uint64_t budget;   /* ticks that are available from `eligible` on, at least 1 while active */
    uint64_t usage;    /* used ticks of the budget, less than `budget` */
    bool active;       /* the server is not blocked */
};

/* Returns the budget of a server of utilization `budget` / `period` that serves VCPUs of period
 * `served_period`: U * T in whole ticks, at least 1. */
uint64_t pibs_server_share(uint64_t budget, uint64_t period, uint64_t served_period);

/* Makes a blocked server of utilization `budget` / `period`; only their ratio matters. Returns
 * SCHEDULE_OK, SCHEDULE_PERIOD_OUT_OF_RANGE or SCHEDULE_BUDGET_OUT_OF_RANGE. */
enum schedule_error pibs_server_init(struct pibs_server *server, uint64_t budget, uint64_t period,
                                     uint64_t now);

/* Changes the utilization. The server keeps its debt: the eligible time does not move to an earlier
 * time. Returns the errors of pibs_server_init(); then nothing has changed. */
enum schedule_error pibs_server_set_parameters(struct pibs_server *server, uint64_t budget,
                                               uint64_t period);

/*
 * Starts or extends the service of a Main VCPU of period `served_period`. Call it when the VCPU
 * requests service, and when an interrupt arrives on its behalf. `served_period` is 1 ..
 * SCHEDULE_PERIOD_MAX. The server's priority is that of `period` from then on.
 */
void pibs_server_unblock(struct pibs_server *server, uint64_t served_period, uint64_t now);

/* Forfeits the time that the server waited at a lower priority. Call it when the server's priority
 * rises to that of `period`, in any state of the server, after its execution has been charged. */
void pibs_server_raise(struct pibs_server *server, uint64_t now);

/* Returns the time from which on the next tick of the budget is available, or SCHEDULE_NEVER if the
 * server is blocked. */
uint64_t pibs_server_eligible(const struct pibs_server *server);

/* Returns the number of ticks that are left of the budget; 0 if the server is blocked or has no
 * budget now. */
uint64_t pibs_server_available(const struct pibs_server *server, uint64_t now);

/* Accounts for `used` ticks of execution that have ended. Execution beyond the budget delays the
 * next one. */
void pibs_server_charge(struct pibs_server *server, uint64_t used);

/* Blocks the server. Call it when its thread has no more work, after its execution has been
 * charged. */
void pibs_server_block(struct pibs_server *server);

/* Returns the time at which the budget ends if the thread executes from `now` on. If the server has
 * no budget now, returns the time at which it has budget again. If the server is blocked, returns
 * SCHEDULE_NEVER. */
uint64_t pibs_server_next_event(const struct pibs_server *server, uint64_t now);

#endif
