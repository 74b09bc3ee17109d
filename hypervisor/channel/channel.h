/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels: memory that connects two partitions, and doorbells. Each end writes a section of its
 * own and reads that of the other one. The states of both ends are in a page that only the monitors
 * of the two partitions write, each its own word, so no lock is needed. What the guests write to
 * their sections is theirs: the hypervisor reads nothing of it.
 *
 * A guest may see its end as a PCI function, too (channel/function.h).
 *
 * Images without channels have absent.c and boot_absent.c, whose functions have no effect.
 */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Checks the description of all channels and that the board has their memory, and maps it for the
 * boot core. Ends the boot if something is wrong. `root`: of the boot core's tables. Boot, MMU off.
 */
void channel_prepare(const struct description *system, uint64_t *root);

/* Maps the partition's channels in its stage 2, and zeroes those of which it is end 0. `stage2`:
 * its root. Boot, MMU on. */
void channel_connect(const struct partition *partition, uint64_t *stage2);

/* Adds what the monitors of the partition need: the state pages. Boot. */
void channel_map(uint64_t *root, const struct partition *partition);

/* The partition has stopped: makes its ends absent, and rings the doorbells of the others. Resets
 * its PCI functions of channels. Its sections stay, because the other ends may still read messages.
 * Called when none of its cores executes its guest, and its DMA is blocked. */
void channel_end(const struct partition *partition);

/* Handles an access to the partition's PCI host for channels. Returns false if the address is not
 * in there, and sets *result otherwise. A register that does not exist is refused, and reads as
 * ones in the configuration space or the window, and as zero in the page of a function's BAR 0. Any
 * core of the partition. */
bool channel_access(struct partition *partition, uint64_t address, struct access *access,
                    enum access_result *result);

#endif
