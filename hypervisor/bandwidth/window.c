/* SPDX-License-Identifier: BSD-2-Clause */
#include "bandwidth/window.h"

/* Returns the debt after `windows` windows without events have paid. */
static uint64_t paid(uint64_t debt, uint32_t budget, uint64_t windows)
{
    return windows > debt / budget ? 0 : debt - windows * budget;
}

/* Grants what the debt leaves of a budget. */
static void grant(struct bandwidth_window *window, uint32_t budget)
{
    uint32_t payment = window->debt < budget ? window->debt : budget;

    window->granted = budget - payment;
    window->debt -= payment;
    window->is_spent = window->granted == 0;
}

void window_open(struct bandwidth_window *window, const struct bandwidth_limits *limits,
                 uint64_t now)
{
    window->end = now + limits->ticks;
    window->debt = 0;
    grant(window, limits->budget);
}

void window_close(struct bandwidth_window *window)
{
    window->end = WINDOW_NEVER;
    window->is_spent = 0;
}

void window_spend(struct bandwidth_window *window)
{
    window->is_spent = window->end != WINDOW_NEVER;
}

bool window_advance(struct bandwidth_window *window, const struct bandwidth_limits *limits,
                    uint32_t used, uint64_t now)
{
    uint64_t debt = window->debt, missed;

    if (window->end == WINDOW_NEVER || now < window->end) {
        return false;
    }
    missed = (now - window->end) / limits->ticks;
    debt += used > window->granted ? used - window->granted : 0;
    debt = paid(debt, limits->budget, missed);
    window->debt = debt < UINT32_MAX ? (uint32_t)debt : UINT32_MAX;
    window->end += (missed + 1) * limits->ticks;
    grant(window, limits->budget);
    return true;
}
