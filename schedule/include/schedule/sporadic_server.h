/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sporadic server: a budget of C ticks in each period of T, for a Main VCPU.
 *
 * Each tick of execution that was available from time t on becomes available again at t + T. To
 * VCPUs of lower priority the server therefore is a periodic task (C, T), however its thread blocks
 * and wakes (Quest-V, 3.3).
 *
 * The rules are those of Stanovich et al. 2010 as corrected by Quest and seL4. The budget is a
 * queue of replenishments and the usage: ticks of the head that are used and not yet posted for the
 * next period.
 *
 *   available  the rest of the head, or 0 before the head's time. Ticks that an overrun took from a
 *              head of a later time delay the head by as many ticks.
 *   charge     adds to the usage, and posts for one period later each head that is used up. What a
 *              thread used beyond its budget is so taken from the following replenishments.
 *   block      the split check: the used part of the head is posted for one period after the head's
 *              time, the rest stays. Without a free slot the rest joins the next replenishment.
 *   unblock    the unblock check: a head that is available begins anew, now, and takes in the
 *              replenishments that begin before it would end.
 *
 * A thread that blocks and wakes often splits the budget into many replenishments. Each costs
 * interrupts and context switches, and those beyond the capacity postpone the head. So a server can
 * have a smallest piece: a smaller replenishment that waits behind the head is delayed until the
 * next one, and joins it. Of the budget of C, less than two pieces are delayed at any time by this.
 * With a smallest piece of C / n, rounded up, there are never more than n + 2 replenishments.
 *
 * Preemption neither splits nor merges (defect B of the POSIX server, Figure 7, schedule B).
 *
 * Between calls: the amounts add up to the budget; the entries are in order and disjoint; the usage
 * is less than the head. Unless the thread is blocked, the last tick of the budget is available
 * less than one period after the first.
 *
 * Charge only what was executed at foreground priority. `now` is at most SCHEDULE_NOW_MAX and never
 * less than in the call before.
 */
#ifndef SCHEDULE_SPORADIC_SERVER_H
#define SCHEDULE_SPORADIC_SERVER_H

#include "schedule/replenishment.h"
#include "schedule/ticks.h"
#include <stdint.h>

struct sporadic_server {
    uint64_t budget; /* C, in ticks */
    uint64_t period; /* T, in ticks */
    uint64_t usage;  /* used ticks of the head, less than its amount */
    struct replenishment_queue replenishments;
};

/*
 * Initialises a server whose whole budget is available from `now` on. `capacity`: number of
 * replenishments that it remembers. A larger capacity wastes less budget if the thread blocks
 * often. Returns SCHEDULE_OK, SCHEDULE_PERIOD_OUT_OF_RANGE, SCHEDULE_BUDGET_OUT_OF_RANGE or
 * SCHEDULE_CAPACITY_OUT_OF_RANGE.
 */
enum schedule_error sporadic_server_init(struct sporadic_server *server, uint64_t budget,
                                         uint64_t period, unsigned capacity, uint64_t now);

/* Sets the smallest piece, in ticks, for later replenishments. sporadic_server_init() sets 1. */
void sporadic_server_set_piece(struct sporadic_server *server, uint64_t piece);

/* Returns the time from which on the next tick of the budget is available. The server has budget if
 * this time is not in the future. */
uint64_t sporadic_server_eligible(const struct sporadic_server *server);

/* Returns the number of ticks that are left of the head; 0 if the server has no budget now. */
uint64_t sporadic_server_available(const struct sporadic_server *server, uint64_t now);

/*
 * Accounts for `used` ticks of execution that have ended. Call it whenever the thread stops
 * running, and when its budget ends. The call may come late.
 */
void sporadic_server_charge(struct sporadic_server *server, uint64_t used);

/* Makes the split check. Call it when the thread blocks, after its execution has been charged. */
void sporadic_server_block(struct sporadic_server *server, uint64_t now);

/* Makes the unblock check. Call it when the thread becomes runnable after it had blocked. */
void sporadic_server_unblock(struct sporadic_server *server, uint64_t now);

/*
 * Returns the time at which the state of a runnable server changes. While it has budget, that is
 * the time at which the budget ends if the thread executes from `now` on; otherwise the time at
 * which it has budget again. Execution since the last charge is not counted. Takes at most
 * REPLENISHMENT_CAPACITY_MAX steps.
 */
uint64_t sporadic_server_next_event(const struct sporadic_server *server, uint64_t now);

/*
 * Changes budget and period. The rest of the head stays available, up to the new budget. The rest
 * of the new budget follows as if it had been used up just now: one new period later. So no series
 * of calls gives more than the parameters allow. Returns SCHEDULE_OK, SCHEDULE_PERIOD_OUT_OF_RANGE
 * or SCHEDULE_BUDGET_OUT_OF_RANGE. On an error nothing has changed.
 */
enum schedule_error sporadic_server_set_parameters(struct sporadic_server *server, uint64_t budget,
                                                   uint64_t period, uint64_t now);

#endif
