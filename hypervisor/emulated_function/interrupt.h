/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of an emulated PCI function: INTA, for which the partition has an edge-triggered
 * SPI. Its enable bits are in a word that the monitors of both partitions access: the monitor of
 * the function's partition changes them for its guest, and the monitor of the other partition reads
 * them before it makes the SPI pending. So a guest that has disabled the interrupt has no exit when
 * the other partition rings.
 *
 * A doorbell that is rung while the interrupt is disabled is lost, as the ivshmem specification
 * requires. A guest misses nothing if it enables the interrupt before it looks for work for the
 * last time.
 */
#ifndef EMULATED_FUNCTION_INTERRUPT_H
#define EMULATED_FUNCTION_INTERRUPT_H

#include "emulated_function/state.h"
#include "hypervisor/description.h"

/* Bits of emulated_function.interrupt. Each comment names the register of the function with the
 * same bit. */
#define FUNCTION_INTX_DISABLE (1u << 0) /* Command: INTx Disable */
#define FUNCTION_ENABLE       (1u << 1) /* Interrupt Control: enable */
#define FUNCTION_ONE_SHOT     (1u << 2) /* Privileged Control: an interrupt clears the enable */
/* Status: Interrupt Status. Set if an interrupt was signalled after the guest last set INTx
 * Disable. The ivshmem specification never sets it, but generic drivers of PCI functions ignore an
 * interrupt without it (Linux: uio_pci_generic, vfio-pci). They respond to the interrupt by setting
 * INTx Disable, and clear that later only if the status is clear. */
#define FUNCTION_STATUS (1u << 3)

/* Returns the word. Any core. */
uint32_t function_interrupt_bits(const struct emulated_function *function);

/* Clears the bits `clear` and sets the bits `set`. The change is visible to the other partition's
 * monitor when the function returns. */
void function_interrupt_change(struct emulated_function *function, uint32_t clear, uint32_t set);

/* Signals the interrupt to the guest, if the guest has enabled it. `interrupt`: INTID of the SPI.
 * Any core. The interrupted guest sees everything that this core wrote before. */
void function_interrupt_ring(struct emulated_function *function, const struct description *system,
                             uint32_t interrupt);

#endif
