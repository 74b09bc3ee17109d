/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels: memory that connects two partitions, and doorbells. The guest at each end writes its
 * own section of the memory and reads the section of the other end. Only the monitors of the two
 * partitions write the state page: each the state of its own end, and both the words of the
 * functions' interrupts, atomically. So no lock is needed. The hypervisor reads nothing of the
 * sections.
 *
 * A guest may see its end as a PCI function, too (channel/function.h).
 *
 * Images without channels have absent.c and boot_absent.c instead, whose functions have no effect.
 */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include "hypervisor/partition.h"
#include "hypervisor/step.h"

/* Validates the description of all channels, checks that the board has their memory, and maps it in
 * the boot core's tables. Calls boot_refuse() on failure. `root`: of the boot core's tables. Boot,
 * MMU off. */
void channel_prepare(const struct description *system, uint64_t *root);

/* Maps the regions of the partition's channels in its stage 2. Zeroes the regions of which it is
 * end 0. `stage2`: root of its stage 2. Boot, MMU on. */
void channel_connect(const struct partition *partition, uint64_t *stage2);

/* Maps the state pages of the partition's channels in the tables of one of its monitors, at `root`.
 * Boot. */
void channel_map(uint64_t *root, const struct partition *partition);

/* Takes the next step of ending the partition's use of its channels, one channel: sets the state of
 * its end to 0 (absent), rings the doorbell of the other end, and resets its PCI function of the
 * channel. Its section keeps its content, because the other end may still read messages. `*index`:
 * 0 before the first step. Returns STEP_PENDING, then STEP_DONE. Called after the partition has
 * stopped: no core executes its guest, and its DMA is blocked. */
enum step_outcome channel_end(const struct partition *partition, uint32_t *index);

#endif
