/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of a channel's PCI function: INTA, for which the partition has an edge-triggered
 * SPI. Whether it is enabled is in a word of the state page, because the monitors of both ends use
 * it: that of the guest changes it, and that of the other end reads it before it makes the SPI
 * pending. So a guest that has disabled it pays nothing for what the other end rings.
 *
 * A doorbell that rings while the interrupt is disabled is lost, as the ivshmem specification wants
 * it. A guest that enables it before it looks at the channel for the last time misses nothing.
 */
#ifndef CHANNEL_FUNCTION_INTERRUPT_H
#define CHANNEL_FUNCTION_INTERRUPT_H

#include "channel/end.h"

/* Bits of the word. */
#define FUNCTION_INTX_DISABLE (1u << 0) /* Command: INTx Disable */
#define FUNCTION_ENABLE       (1u << 1) /* Interrupt Control: enable */
#define FUNCTION_ONE_SHOT     (1u << 2) /* Privileged Control: an interrupt clears the enable */
/* Status: Interrupt Status. An interrupt has come since the guest has set INTx Disable last. The
 * ivshmem specification never sets it, and generic drivers of PCI functions ignore an interrupt
 * without it (Linux: uio_pci_generic, vfio-pci). They answer the interrupt by setting INTx Disable,
 * and clear that later only if the status is clear. */
#define FUNCTION_STATUS (1u << 3)

/* Returns the bits. */
uint32_t function_interrupt_bits(const struct end *end);

/* Clears and sets bits. Returns when the other end's monitor sees the change. */
void function_interrupt_change(const struct end *end, uint32_t clear, uint32_t set);

/* Interrupts the guest if it has enabled that. Any core; the guest, once it is interrupted, sees
 * all that this core wrote before. */
void function_interrupt_ring(const struct end *end);

#endif
