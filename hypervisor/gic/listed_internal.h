/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of listed interrupts: how an operation begins and ends, and the changes of
 * state that more than one operation makes. */
#ifndef GIC_LISTED_INTERNAL_H
#define GIC_LISTED_INTERNAL_H

#include "gic/lists.h"
#include "gic/physical.h"

/* Begins an operation: returns a copy of the list registers and of what the operation needs to know
 * of the virtual CPU interface. Ends the evicted interrupts that the guest has ended since the last
 * operation. The VCPU's state is in the core. */
struct lists listed_fold(struct vcpu *vcpu);

/* Ends an operation: writes the list registers and list.numbers, and ICH_HCR_EL2 and ICC_PMR_EL1 if
 * the state needs other values there. */
void listed_flush(const struct lists *lists);

/* Deactivates a PPI or SPI in the GIC, and ends its mute. */
void listed_end(const struct vcpu *vcpu, uint32_t number);

/* Does so for interrupts of a word: bit n is interrupt 32 * word + n. */
void listed_end_word(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts);

/* Ends the active state of the interrupt list.evicted[evicted]. If it is pending, too, it is
 * pending in the GIC then. */
void listed_end_evicted(struct vcpu *vcpu, uint32_t evicted);

/* Forgets that a guest has cleared the interrupt's pending state since it was listed. Returns true
 * if one had. */
bool listed_forget_clear(const struct vcpu *vcpu, uint32_t number);

#endif
