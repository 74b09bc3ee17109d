/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Muted SPIs of a partition with listed interrupts. An SPI that is listed, evicted or set aside is
 * active in the GIC, so it does not arrive again. But a guest of another partition that has direct
 * interrupts can end this active state (docs/decisions/0013), again and again. So if the SPI
 * arrives nevertheless, it is muted: disabled in the Distributor until the guest ends it, or until
 * it returns to the GIC. The guest reads it as enabled.
 *
 * The functions are called by each monitor of the partition, also for VCPUs that do not execute.
 */
#ifndef GIC_MUTED_H
#define GIC_MUTED_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns the muted interrupts of a word: bit n is interrupt `first` + n. */
static inline uint32_t muted_word(const struct partition *partition, uint32_t first)
{
    return __atomic_load_n(&partition->atomic.changes.muted[first / 32], __ATOMIC_RELAXED);
}

/* Returns true if the interrupt is muted. */
bool muted_has(const struct partition *partition, uint32_t number);

/* Mutes an SPI of the VCPU's partition, unless its guest has disabled it. */
void muted_add(const struct vcpu *vcpu, uint32_t number);

/* Ends the mute, if there is one: enables the SPI again. */
void muted_remove(const struct vcpu *vcpu, uint32_t number);

/* Carries out a guest's write of ones to a register that enables or disables SPIs. `offset`: of the
 * register, GIC_ISENABLER or GIC_ICENABLER + 4 * n. A muted SPI stays disabled in the Distributor;
 * one that the guest disables is no longer muted. Returns those of `ones` that were muted. */
uint32_t muted_write_enables(const struct vcpu *vcpu, uint32_t offset, uint32_t first,
                             uint32_t ones);

#endif
