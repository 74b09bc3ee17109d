/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SMMUv3 (Arm IHI 0070): DMA of functions that belong to partitions with `dma = "smmu"` goes
 * through the partition's own stage 2, all other DMA is aborted. A function's stream is its PCI
 * address, as on boards whose `iommu-map` is one to one. Nothing is changed after boot.
 */
#ifndef SMMU_SMMU_H
#define SMMU_SMMU_H

#include "hypervisor/partition.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

#define SMMU_REGISTER_BYTES UINT64_C(0x20000)
/* Where the registers are that monitors read events by: a page of them. */
#define SMMU_EVENT_REGISTERS UINT64_C(0x10000)

/* DMA that was refused. */
struct smmu_event {
    uint32_t stream;  /* the function: bus << 8 | device << 3 | function */
    uint32_t type;    /* IHI 0070, 7.3: 0x10 translation, 0x13 permission, ... */
    uint64_t address; /* where to, if the type has one: the address that the device put out */
    bool read;
};

/*
 * Switches the board's SMMU on, if the description has one; `stage2_roots` by partition, `queues`
 * two zeroed pages, the first for events. NULL, or what is wrong with it, in static memory. A read
 * from where nothing is may fault instead. Boot core, before any partition runs.
 */
const char *smmu_boot(const struct description *system, struct page_pool *pool,
                      const uint64_t stage2_roots[], uint64_t queues);

/* How many of a partition's functions the SMMU lets through to its memory. */
static inline uint32_t smmu_confined(const struct description_partition *partition)
{
    return partition->dma == DESCRIPTION_DMA_SMMU ? partition->function_count : 0;
}

/*
 * The event queue's interrupt (board.smmu_interrupt) came. True: `event` is what a device of this
 * partition tried; it is taken out of the queue. If the queue goes on, or with what another
 * partition's device tried, the interrupt comes again, to the boot core of who is next to look.
 * What an overflow lost is not told. Boot cores, also without the interrupt: only whose event is
 * the oldest takes it, so there is one at a time.
 */
bool smmu_event(const struct partition *partition, struct smmu_event *event);

#endif
