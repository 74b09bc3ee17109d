/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual PL031 of a partition (Arm DDI 0224): a real-time clock that guests can read. The boot
 * core reads the board's PL031 once. From then on the time is computed from the board's counter, so
 * no monitor accesses a device that other monitors access, too. The clock has no alarm, and a guest
 * can't set it (docs/decisions/0069).
 */
#ifndef HYPERVISOR_RTC_H
#define HYPERVISOR_RTC_H

#include "hypervisor/access.h"
#include <stdint.h>

/* Handles a guest's access. access->offset: from the first register, below one page. `seconds`: the
 * value of RTCDR. Writes are ignored. Returns ACCESS_REFUSED for a write that would set the clock
 * or an alarm, and if no register has this offset and size, otherwise ACCESS_DONE. */
enum access_result rtc_access(uint64_t seconds, struct access *access);

#endif
