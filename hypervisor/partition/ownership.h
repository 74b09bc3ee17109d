/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI functions that move between partitions while the system runs. The system file names the
 * partitions that may have each of them. All that a move needs is laid out at boot: windows for
 * BARs, an SPI, a stream table entry, a view of configuration space in each of these partitions.
 *
 * At any time a function has one holder, the only partition whose monitors access it:
 *
 *           give, failover              DMA is blocked, the function reset, its SPI disabled
 *   OWNED(a) ------------> LEAVING(a, b) -----------------------------> ARRIVING(b)
 *      ^                        ^   |                                     |      |
 *      |                 give   |   | the function was not reset          |      | give to c
 *      |                        |   v                                     |      v
 *      |                     QUARANTINED(a)                               |   LEAVING(b, c)
 *      +------------------------------------------------------------------+
 *         b's guest looks for the function: DMA is translated by b's stage 2, b gets the SPI
 *
 * Each step to the right or upward is made by a monitor of the holder, on its boot VCPU's core. A
 * holder that stops in the middle blocks DMA and resets the function as it does with all it has;
 * the move goes on once it has stopped. Only an owner's guest sees the function. For all others
 * its configuration space reads as ones, like an empty slot.
 *
 * Images of systems without such functions have ownership_absent.c and ownership_boot_absent.c
 * instead: every function always is its partition's.
 */
#ifndef PARTITION_OWNERSHIP_H
#define PARTITION_OWNERSHIP_H

#include "hypervisor/vcpu.h"
#include "smmu/smmu.h"
#include <stdbool.h>
#include <stdint.h>

/* Gives each movable function to its first owner. Calls boot_refuse() if the image has no code for
 * them. `partitions`, and `stage2_roots`, those that the SMMU uses: by index. Boot, after all
 * partitions were made. */
void ownership_boot(const struct description *system, struct partition *const *partitions,
                    const uint64_t stage2_roots[]);

/* Completes the arrival of a function that the guest looks for, if it is on its way to the
 * partition and the SMMU is done. Returns true if the guest sees the function now. `index`: in the
 * description. On the partition's boot VCPU, while its guest executes. */
bool ownership_arrive(struct partition *partition, uint32_t index);

/* Takes the next step of a function that leaves the VCPU's partition, while this neither starts nor
 * stops. On its boot VCPU's processor. */
void ownership_depart(struct vcpu *vcpu);

/* Returns true if the partition has a movable function, and its standby executes. On its boot
 * VCPU. */
bool ownership_can_fail_over(const struct partition *partition);

/* Lets the standby get all movable functions of a partition. Its DMA is blocked, its functions and
 * SPIs were reset, and none of its VCPUs executes. `vcpu`: its boot VCPU, on its processor. */
void ownership_hand_over(struct vcpu *vcpu);

/* Notes that the partition executes, or that it begins to start or to stop. The second discards the
 * progress of a function that leaves: the stop does the same. On its boot VCPU. */
void ownership_begin_life(const struct partition *partition);
void ownership_begin_transition(struct partition *partition);

/* Begins to move a function, if `begins`, or asks how far it is: CALL_DEVICE_GIVE, with its
 * results. `address`: of the function. `to`: index of a partition. `caller`: VCPU of the manager.
 */
int64_t ownership_give(const struct vcpu *caller, uint32_t address, uint32_t to, bool begins);

/* Handles CALL_DEVICE_STATE. `registers`: X0 to X3. Returns X0. On the boot VCPU. */
int64_t ownership_state(const struct vcpu *vcpu, uint64_t registers[4]);

/* Returns the number of moves of all functions. Any core. */
uint32_t ownership_moves(void);

/* Returns the partition whose DMA caused an event: the holder of the function, or
 * DESCRIPTION_NO_PARTITION if a function has moved since `moves` was read, before the event was
 * taken from the queue. Any core. */
uint32_t ownership_culprit(const struct description *system, const struct smmu_event *event,
                           uint32_t moves);

#endif
