/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of the performance monitors on the cores of partitions whose memory bandwidth is
 * limited. A core has one such interrupt for all of its counters, so the hypervisor has it there,
 * and the guest has none. All functions are called on the VCPU's own core, except
 * gic_guest_interrupts().
 *
 * Images without limits of bandwidth have counter_interrupt_absent.c.
 */
#ifndef GIC_COUNTER_INTERRUPT_H
#define GIC_COUNTER_INTERRUPT_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns the private interrupts that guests of the partition have, in one word: bit n for INTID
 * n. */
const uint32_t *gic_guest_interrupts(const struct partition *partition);

/* Puts the interrupt into Group 0, and enables it. Returns false if it stays disabled, because the
 * firmware keeps it (IHI 0069, GICR_ISENABLER0). Called each time after gic_reset_core(). */
bool gic_take_counter_interrupt(const struct vcpu *vcpu);

#endif
