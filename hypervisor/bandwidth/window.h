/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The windows of a VCPU whose memory bandwidth is limited: how many events it may cause in each.
 * Logic without a clock and without a counter. Times are ticks of one clock.
 *
 * Windows are equally long and follow each other. A VCPU whose grant is used up is parked until its
 * window ends. The interrupt that parks it arrives after a few more events. These are a debt, which
 * the next windows pay, so no sequence of windows has more events than their budgets and the events
 * of one interrupt's latency.
 */
#ifndef BANDWIDTH_WINDOW_H
#define BANDWIDTH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct bandwidth_limits {
    uint64_t ticks;  /* length of a window, at least 1 */
    uint32_t budget; /* events that the VCPU may cause in a window, 1 to 2^31 - 1 */
};

#define WINDOW_NEVER UINT64_MAX

struct bandwidth_window {
    uint64_t end;      /* of the open window; WINDOW_NEVER: none is open */
    uint32_t granted;  /* events that the VCPU may cause in the open window, at most the budget */
    uint32_t debt;     /* events of earlier windows that later windows pay */
    uint32_t is_spent; /* 1: the grant is used up, and the VCPU is parked */
    uint32_t reserved;
};

/* Opens the first window at `now`, with the whole budget. */
void window_open(struct bandwidth_window *window, const struct bandwidth_limits *limits,
                 uint64_t now);

/* Closes the open window. No further one follows. */
void window_close(struct bandwidth_window *window);

/* Notes that the counter has counted the grant. */
void window_spend(struct bandwidth_window *window);

/* Ends the open window if `now` is not before its end, and opens the one that has `now`. `used`:
 * events in the window that ends. A late call does not shift the ends of the windows. Returns true
 * if another window is open now. It may be spent from its beginning, by a debt. */
bool window_advance(struct bandwidth_window *window, const struct bandwidth_limits *limits,
                    uint32_t used, uint64_t now);

#endif
