/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of EL1, and those of EL2 that control EL1, on the core that calls. */
#ifndef MONITOR_GUEST_STATE_H
#define MONITOR_GUEST_STATE_H

#include "monitor/core.h"
#include <stdint.h>

/* Sets stage 2 with this root and VMID, traps and timers. Once, on each core, before its first
 * guest. */
void guest_state_rule(uint64_t stage2, uint32_t vmid);

/* Clears every register that keeps a guest's content, besides general registers and those of the
 * interrupt controller. Each time before a guest starts on this core. */
void guest_state_reset(void);

/* Makes the guest take a synchronous exception at EL1 where it stands. `syndrome`: ESR_EL1. FAR_EL1
 * is the caller's. */
void guest_state_exception(struct registers *registers, uint64_t syndrome);

/* Makes the guest take an UNDEFINED exception at EL1 for the instruction at its program counter. */
void guest_state_undefined(struct registers *registers);

#endif
