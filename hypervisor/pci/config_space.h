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

/* Learns what the partition's functions are, with decoding and bus mastering off from then on.
 * Boot, before its cores run; struct partition's `functions` need not be set before. */
void pci_boot(struct partition *partition);

/*
 * An access to ECAM: `offset` is bus << 20 | device << 15 | function << 12 | register. What the
 * partition does not have reads as ones and ignores writes: ACCESS_REFUSED. Any core of the
 * partition; others of it wait for each other.
 */
enum access_result pci_access(struct partition *partition, struct access *access);

/*
 * Stops the functions (no decoding, no bus mastering), and resets those that the guest has written
 * to since boot: its view is as after boot. Takes a tenth of a second if there are such, nothing
 * otherwise. None of the partition's cores runs.
 */
void pci_reset(struct partition *partition);

#endif
