/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generic watchdog of a partition: architecture version 1 of SBSA's (Arm DEN0029, and DEN0094,
 * "Generic Watchdog"), which unmodified drivers use. Logic without a clock. Times are values of the
 * system counter, CNTPCT_EL0.
 *
 * The counter passes the compare value (WCV) unless the guest refreshes the watchdog before. The
 * first time, signal WS0 is asserted and another watch period begins. The second time, WS1 is
 * asserted, and stays so until the guest refreshes the watchdog.
 */
#ifndef WATCHDOG_GENERIC_WATCHDOG_H
#define WATCHDOG_GENERIC_WATCHDOG_H

#include "hypervisor/access.h"
#include <stdbool.h>
#include <stdint.h>

/* All zero: the state after a reset. */
struct generic_watchdog {
    uint64_t offset;  /* WOR */
    uint64_t compare; /* WCV */
    uint32_t status;  /* WCS */
    uint32_t reserved;
};

/* Lets the time until `now` pass. Returns the signals that it asserts: WCS_SIGNAL0, WCS_SIGNAL1,
 * both or none (0). A watch period begins when the last one has ended, however late the call is. */
uint32_t generic_watchdog_advance(struct generic_watchdog *watchdog, uint64_t now);

/* Returns the time at which the next signal is asserted without a refresh, or UINT64_MAX: never. */
uint64_t generic_watchdog_due(const struct generic_watchdog *watchdog);

/* Handles a guest's access to the control frame, or to the refresh frame. access->offset: in the
 * frame. The time until `now` has passed (generic_watchdog_advance()). Returns ACCESS_REFUSED if no
 * register has this offset and size, otherwise ACCESS_DONE. */
enum access_result generic_watchdog_access_control(struct generic_watchdog *watchdog, uint64_t now,
                                                   struct access *access);
enum access_result generic_watchdog_access_refresh(struct generic_watchdog *watchdog, uint64_t now,
                                                   struct access *access);

#endif
