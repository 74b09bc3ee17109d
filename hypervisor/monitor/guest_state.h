/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of EL1 and those of EL2 that rule it: as a partition's core finds them. */
#ifndef MONITOR_GUEST_STATE_H
#define MONITOR_GUEST_STATE_H

#include <stdint.h>

/* Once, on each core: stage 2 with this root and VMID, traps, timers. */
void guest_state_rule(uint64_t stage2, uint32_t vmid);
/* Each time the guest begins on this core: nothing of what ran before is left. */
void guest_state_reset(void);

#endif
