/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SMMUv3 (Arm IHI 0070): DMA of functions that belong to partitions with `dma = "smmu"` goes
 * through the partition's own stage 2, DMA of those with `dma = "trusted"` is not translated, and
 * all other DMA is aborted. A function's stream is its PCI address, as on boards whose `iommu-map`
 * is one to one. While a partition is loaded or stopped, DMA of its functions is aborted.
 */
#ifndef SMMU_SMMU_H
#define SMMU_SMMU_H

#include "hypervisor/partition.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

#define SMMU_REGISTER_BYTES UINT64_C(0x20000)
/* Offset of the page with the registers of the event queue, which monitors use. */
#define SMMU_EVENT_REGISTERS UINT64_C(0x10000)

/* Memory that the SMMU and the monitors share. */
struct smmu_memory {
    uint64_t events;       /* page of the event queue */
    uint64_t commands;     /* page of the command queue */
    uint64_t streams;      /* linear stream table, whole pages */
    uint64_t stream_bytes; /* its pages */
};

/* DMA that the SMMU refused. */
struct smmu_event {
    uint32_t stream;  /* the function: bus << 8 | device << 3 | function */
    uint32_t type;    /* IHI 0070, 7.3: 0x10 translation, 0x13 permission, ... */
    uint64_t address; /* address that the device put out, if the type has one */
    bool read;
    uint32_t partition; /* whose function it is: index, or DESCRIPTION_NO_PARTITION */
};

/*
 * Enables the board's SMMU, if the description has one, with every stream aborted. `stage2_roots`:
 * by partition. `memory`: the two queues are zeroed pages of the caller; the stream table is
 * allocated from `pool` and stored there. Returns NULL, or the reason of a failure in static
 * memory. A read from an address without an SMMU may raise an exception instead. Boot core, before
 * any partition runs.
 */
const char *smmu_boot(const struct description *system, struct page_pool *pool,
                      const uint64_t stage2_roots[], struct smmu_memory *memory);

/* Returns the number of the partition's functions whose DMA stage 2 confines to its memory. */
static inline uint32_t smmu_confined(const struct description_partition *partition)
{
    return partition->dma == DESCRIPTION_DMA_SMMU ? partition->function_count : 0;
}

/* Returns the number of the partition's functions that have a stream table entry: those that may
 * master the bus, if the board has an SMMU. */
static inline uint32_t smmu_streams(const struct description *system,
                                    const struct description_partition *partition)
{
    return system->board.smmu != 0 && partition->dma != DESCRIPTION_DMA_NONE
               ? partition->function_count
               : 0;
}

enum smmu_answer {
    SMMU_PENDING, /* to be called again: the SMMU, or a change of another partition, is not done */
    SMMU_DONE,
    SMMU_FAILED /* the SMMU has stopped at an error: DMA may still reach memory */
};

/*
 * Aborts all DMA of the partition's functions. When the function returns SMMU_DONE, DMA that was
 * translated before has completed, too (IHI 0070, 3.21). `change` is zero for the first call. A
 * caller that does not call again after SMMU_PENDING or SMMU_FAILED calls smmu_end_change(). Done
 * at once without an SMMU. Boot core of the partition. The board has one command queue, which one
 * partition uses at a time.
 */
enum smmu_answer smmu_block_dma(const struct partition *partition, struct smmu_change *change);

/* Permits DMA of the partition's functions as the system file says: translated by stage 2, or
 * untranslated. Otherwise like smmu_block_dma(). */
enum smmu_answer smmu_permit_dma(const struct partition *partition, struct smmu_change *change);

/* The partition no longer uses the command queue. If the SMMU has not consumed its commands, every
 * later change fails until it has. */
void smmu_end_change(const struct partition *partition, struct smmu_change *change);

/*
 * Removes the oldest event from the queue. If more events follow, makes the queue's interrupt
 * (board.smmu_interrupt) pending again. Returns false if the queue is empty, or if the partition's
 * monitors have no access to it. Events that an overflow discarded are not reported. Any core.
 */
bool smmu_event(const struct partition *partition, struct smmu_event *event);

#endif
