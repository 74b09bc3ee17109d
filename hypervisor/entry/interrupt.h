/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts that enter EL2. */
#ifndef ENTRY_INTERRUPT_H
#define ENTRY_INTERRUPT_H

#include "hypervisor/vcpu.h"

/* Handles the hypervisor's most urgent pending interrupt on this processor, if one is pending.
 * `vcpu`: the VCPU whose state this processor has. */
void interrupt_handle(struct vcpu *vcpu);

/* Handles what this or another processor has left for the VCPU's partition if it is a boot VCPU:
 * typed keys, refused DMA, an order of the manager. Then looks whether the VCPU's guest hangs
 * (watchdog/watchdog.h). In the VCPU's monitor. */
void interrupt_handle_messages(struct vcpu *vcpu);

/* Handles all pending interrupts of the hypervisor on this processor, also if its guest has blocked
 * them by a feigned active priority (docs/decisions/0013). The guest's active priorities stay. */
void interrupt_handle_blocked(struct vcpu *vcpu);

/* Handles the interrupt that listed_take() acknowledged and did not write to a list register: an
 * interrupt of a guest, or of the hypervisor where both are in Group 1. */
void interrupt_list(struct vcpu *vcpu);

#endif
