/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of a channel's PCI function: INTA, for which the partition has an edge-triggered
 * SPI. Its enable bits are in a word of the state page, because the monitors of both ends access
 * it: the monitor of this end changes them for its guest, and the monitor of the other end reads
 * them before it makes the SPI pending. So a guest that has disabled the interrupt has no exit when
 * the other end rings.
 *
 * A doorbell that is rung while the interrupt is disabled is lost, as the ivshmem specification
 * requires. A guest misses nothing if it enables the interrupt before it checks the channel for the
 * last time.
 */
#ifndef CHANNEL_FUNCTION_INTERRUPT_H
#define CHANNEL_FUNCTION_INTERRUPT_H

#include "channel/end.h"

/* Bits of channel_function.interrupt. Each comment names the register of the function with the same
 * bit. */
#define FUNCTION_INTX_DISABLE (1u << 0) /* Command: INTx Disable */
#define FUNCTION_ENABLE       (1u << 1) /* Interrupt Control: enable */
#define FUNCTION_ONE_SHOT     (1u << 2) /* Privileged Control: an interrupt clears the enable */
/* Status: Interrupt Status. Set if an interrupt was signalled after the guest last set INTx
 * Disable. The ivshmem specification never sets it, but generic drivers of PCI functions ignore an
 * interrupt without it (Linux: uio_pci_generic, vfio-pci). They respond to the interrupt by setting
 * INTx Disable, and clear that later only if the status is clear. */
#define FUNCTION_STATUS (1u << 3)

/* Returns the word. Any core. */
uint32_t function_interrupt_bits(const struct end *end);

/* Clears the bits `clear` and sets the bits `set`. The change is visible to the other end's monitor
 * when the function returns. */
void function_interrupt_change(const struct end *end, uint32_t clear, uint32_t set);

/* Signals the interrupt to the guest of `end`, if the guest has enabled it. Any core. The
 * interrupted guest sees everything that this core wrote before. */
void function_interrupt_ring(const struct end *end);

#endif
