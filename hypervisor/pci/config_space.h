/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI configuration space as a partition sees it: its own endpoints, with BARs confined to its
 * windows; nothing else is there. What it may write is a table (config_space.c). Interrupts are
 * INTx only: MSI and MSI-X are not in the list of capabilities.
 *
 * Bridges are nobody's: their windows, and their bus mastering, reach what is behind them.
 */
#ifndef PCI_CONFIG_SPACE_H
#define PCI_CONFIG_SPACE_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

#define PCI_NO_FUNCTION 0xffffffffu

/*
 * Reads the properties of the partition's functions, and disables decoding and bus mastering.
 * Returns a function that has no way to be reset (bus << 8 | device << 3 | function), or
 * PCI_NO_FUNCTION. Boot, before its cores run; struct partition's `functions` need not be set
 * before.
 */
uint32_t pci_boot(struct partition *partition);

/*
 * Disables bus mastering of every function of bus 0, so that those that no partition owns reach no
 * memory. Bridges among them then forward no DMA of the buses behind them (PCI Express Base 4.0,
 * 7.5.1.1.3). Host bridges keep their setting: DMA of all functions may depend on it. Boot; the
 * description has an ECAM.
 */
void pci_disable_mastering(const struct description *system);

/*
 * An access to ECAM: `offset` is bus << 20 | device << 15 | function << 12 | register. What the
 * partition does not have reads as ones and ignores writes: ACCESS_REFUSED. Any core of the
 * partition; others of it wait for each other.
 */
enum access_result pci_access(struct partition *partition, struct access *access);

/*
 * Disables decoding and bus mastering of the functions that the guest has written to since boot or
 * the last reset, and resets them: the guest's view is as after boot. Takes a tenth of a second if
 * there are such functions, nothing otherwise. Returns false if a function does not complete its
 * reset, unless the partition restarts without resets. None of the partition's cores runs.
 */
bool pci_reset(struct partition *partition);

#endif
