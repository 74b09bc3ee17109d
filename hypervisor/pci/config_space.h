/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI configuration space as a partition sees it: its own endpoints, with BARs confined to its
 * windows. All other functions read as absent. A table in config_space.c lists the registers that
 * the partition may write. Interrupts are INTx only: the list of capabilities has neither MSI nor
 * MSI-X.
 *
 * No partition owns a bridge, because a bridge's windows and bus mastering reach all devices behind
 * it.
 */
#ifndef PCI_CONFIG_SPACE_H
#define PCI_CONFIG_SPACE_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"
#include "hypervisor/step.h"

#define PCI_NO_FUNCTION 0xffffffffu

/*
 * Reads the properties of the partition's functions, and disables their decoding and bus mastering.
 * Returns the address of a function that can't be reset (bus << 8 | device << 3 | function), or
 * PCI_NO_FUNCTION. Boot, before the partition's cores run. partition->functions need not be
 * initialised.
 */
uint32_t pci_boot(struct partition *partition);

/* Returns the size of memory BAR `bar` of a function if it is larger than each of the partition's
 * windows in which it may lie; otherwise 0. `index`: of the function in the description. After
 * pci_boot(). */
uint64_t pci_bar_without_room(struct partition *partition, uint32_t index, unsigned bar);

/*
 * Disables bus mastering of every function of bus 0, so that functions that no partition owns reach
 * no memory. Bridges among them then forward no DMA of the buses behind them (PCI Express Base 4.0,
 * 7.5.1.1.3). Host bridges keep their setting, because DMA of all functions may depend on it. Boot,
 * if the description has an ECAM.
 */
void pci_disable_mastering(const struct description *system);

/*
 * Handles a guest's access to ECAM. access->offset: bus << 20 | device << 15 | function << 12 |
 * register. A function that the partition does not have, or not now, reads as ones and ignores
 * writes; the result is ACCESS_REFUSED. Any core of the partition; a write waits for the writes of
 * its other cores, or returns ACCESS_AGAIN (pci/lock.h).
 */
enum access_result pci_access(struct partition *partition, struct access *access);

/*
 * Takes the next step of resetting the functions that the guest has written to since boot or the
 * last reset: decoding and bus mastering are disabled, and the guest's view is as after boot.
 * Returns STEP_PENDING, and sets `*microseconds` to the time that has to pass before the next step;
 * then STEP_DONE, or STEP_FAILED if a function did not complete its reset or has none, unless the
 * partition restarts without resets. A function that does not answer afterwards has not completed
 * its reset. Function-level resets take 100 ms together, and a second at most; a reset by power
 * state 20 ms, and a virtio device up to a second. `progress`: all zero before the first step. None
 * of the partition's VCPUs executes.
 */
enum step_outcome pci_reset_continue(struct partition *partition, struct reset_progress *progress,
                                     uint32_t *microseconds);

/* Does the same for function `index` alone, which leaves the partition (partition/ownership.h). A
 * function without a reset fails, whatever the partition's restart. Its guest may execute, and does
 * not see the function any more. */
enum step_outcome pci_reset_one(struct partition *partition, uint32_t index,
                                struct reset_progress *progress, uint32_t *microseconds);

#endif
