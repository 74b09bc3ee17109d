/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DMA that the SMMU refused: the event reaches the monitor of the partition that caused it, which
 * stops the partition. An event interrupts one core once. Then the SMMU's interrupt is disabled
 * until the partition's DMA is blocked, however many events its devices cause meanwhile
 * (docs/decisions/0062).
 */
#ifndef PARTITION_REFUSED_DMA_H
#define PARTITION_REFUSED_DMA_H

#include "hypervisor/step.h"
#include "hypervisor/vcpu.h"
#include <stdint.h>

/*
 * Handles the SMMU's interrupt: leaves the oldest event for the monitor of its partition, whose
 * core is recalled. The interrupt stays disabled until that partition has blocked its DMA, so that
 * its further events interrupt nobody; after a second, refused_dma_watch() enables it. `vcpu`: of a
 * partition that has access to the events. Returns the index of the partition that caused the
 * event, or DESCRIPTION_NO_PARTITION. Any core.
 */
uint32_t refused_dma_forward(const struct vcpu *vcpu);

/* Enables the SMMU's interrupt if it has been disabled for a second: the partition whose DMA was
 * refused does not answer. Any core. */
void refused_dma_watch(const struct vcpu *vcpu);

/* Takes the next step of discarding the events of the VCPU's own partition after its DMA was
 * blocked: handles one event. `*event`: 0 before the first step. Returns STEP_PENDING, then
 * STEP_DONE. On its boot VCPU. */
enum step_outcome refused_dma_discard(const struct vcpu *vcpu, uint32_t *event);

/* Takes the next step of forwarding all events that are in the queue, to their partitions, after
 * the DMA of a function was blocked that leaves the VCPU's partition. `*event`: 0 before the first
 * step. Returns STEP_PENDING, then STEP_DONE. On its boot VCPU. */
enum step_outcome refused_dma_drain(const struct vcpu *vcpu, uint32_t *event);

/* Handles the first DMA of the partition that the SMMU refused: an error of the partition. If the
 * partition stops or restarts, later events change nothing until the devices are reset. If it goes
 * on, one event in a second is handled at most. On its boot VCPU. */
void refused_dma_take(struct vcpu *vcpu);

/* Prints the report of the DMA for which refused_dma_take() stopped the partition. On its boot
 * VCPU, before its DMA is blocked. */
void refused_dma_print(const struct vcpu *vcpu);

#endif
