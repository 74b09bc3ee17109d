/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/account.h"

#define FIRST_WAITS_A_SECOND 100u /* 10 ms */

static uint32_t restarts_in_window(const struct restart_account *account,
                                   const struct restart_limit *limit, uint64_t now)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < limit->most; i++) {
        count += account->times[i] != 0 && now - account->times[i] < limit->window;
    }
    return count;
}

/* Returns the time that a restart waits after `before` others in its window. */
static uint64_t wait_after(uint32_t before, uint64_t hz)
{
    uint64_t wait = before == 0 ? 0 : (hz / FIRST_WAITS_A_SECOND) << (before - 1);

    return wait < hz ? wait : hz;
}

bool account_admit(struct restart_account *account, const struct restart_limit *limit, uint64_t now)
{
    uint32_t before = restarts_in_window(account, limit, now);

    if (before >= limit->most) {
        return false;
    }
    account->times[account->next] = now != 0 ? now : 1;
    account->next = (account->next + 1) % limit->most;
    account->earliest = now + wait_after(before, limit->hz);
    return true;
}
