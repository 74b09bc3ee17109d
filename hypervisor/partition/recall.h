/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recalls cores from their guests. A guest with direct interrupts can feign an active interrupt of
 * the highest priority, so that no interrupt reaches its core any more (docs/decisions/0013). When
 * its stage 2 is taken away, it enters its monitor at its next instruction all the same. There the
 * hypervisor's interrupts are handled, without the guest's active priorities. If nothing is
 * requested of the partition, its stage 2 is given back, and the guest goes on. So a core may be
 * recalled at any time, also without a reason (docs/decisions/0039).
 */
#ifndef PARTITION_RECALL_H
#define PARTITION_RECALL_H

#include "hypervisor/description.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Roots of stage 2 that processors use, by partition: each a page. The boot core sets them. */
extern uint64_t recall_roots[DESCRIPTION_PARTITIONS_MAX];

/* Makes the boot VCPU of a partition handle the keys, refused DMA or orders that were left for it:
 * sends the SGI to its core, unless the VCPU has been called before and has not answered. On a
 * shared core the VCPU answers when it executes. `partition`: index in the description, of any
 * partition. Any core. */
void recall_call(const struct vcpu *vcpu, uint32_t partition);

/* Does the same, and recalls the core. */
void recall(const struct vcpu *vcpu, uint32_t partition);

/* Calls all boot VCPUs again that have not answered. On a core that has halted, perhaps between its
 * note of a call and the SGI: then later calls would send none. */
void recall_repeat_calls(const struct vcpu *vcpu);

/* Returns true if the VCPU has been called and has not answered. */
bool recall_is_called(const struct vcpu *vcpu);

/* Recalls all cores of the VCPU's own partition, after a stop was requested. */
void recall_own(const struct vcpu *vcpu);

/* Notes that the boot VCPU answers the calls before this one: its monitor next handles all that was
 * left for it. */
void recall_begin_answer(const struct vcpu *vcpu);

/* Returns true if the cores of the VCPU's partition are recalled: stage 2 is withdrawn, so the
 * guest can make no access. On the VCPU's own processor. */
bool recall_is_in_effect(const struct vcpu *vcpu);

/* Restores stage 2 unless a stop is requested or the boot VCPU is called: then the cores stay
 * recalled. On the VCPU's own processor, while the recall is in effect. */
void recall_end_unless_called(const struct vcpu *vcpu);

/* Restores stage 2 before the partition starts. On its boot VCPU. */
void recall_end(const struct vcpu *vcpu);

#endif
