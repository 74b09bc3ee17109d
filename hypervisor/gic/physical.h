/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of one of the guest's interrupts in the physical GIC: an SPI's in the Distributor, an
 * SGI's or PPI's in the Redistributor of the VCPU's core.
 */
#ifndef GIC_PHYSICAL_H
#define GIC_PHYSICAL_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

bool physical_is_enabled(const struct vcpu *vcpu, uint32_t number);
bool physical_is_active(const struct vcpu *vcpu, uint32_t number);
bool physical_is_edge_triggered(const struct vcpu *vcpu, uint32_t number);

/* Disables an SPI. No core acknowledges it any more when the function returns. */
void physical_disable_spi(const struct vcpu *vcpu, uint32_t number);
void physical_enable(const struct vcpu *vcpu, uint32_t number);

uint32_t physical_priority(const struct vcpu *vcpu, uint32_t number);

/* Makes the interrupt pending if it is edge-triggered. A level-sensitive one is pending as long as
 * its line is asserted. */
void physical_pend_edge(const struct vcpu *vcpu, uint32_t number);

/* Deactivates a PPI or SPI. Has no effect on one that is not active, unlike ICC_DIR_EL1. SGIs are
 * deactivated when they are listed. */
void physical_deactivate(const struct vcpu *vcpu, uint32_t number);

/* As both for the interrupts of a word: bit n is interrupt 32 * word + n. Their number does not
 * matter much, so that no exit takes long. */
void physical_pend_edges(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts);
void physical_deactivate_word(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts);

#endif
