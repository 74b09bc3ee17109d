/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SMMUv3 (Arm IHI 0070). DMA of functions of partitions with `dma = "smmu"` is translated by the
 * partition's own stage 2. DMA of functions of partitions with `dma = "trusted"` is not translated.
 * All other DMA is aborted. The stream ID of a function is its PCI address, as on boards whose
 * `iommu-map` is one to one. While a partition is loaded or stopped, DMA of its functions is
 * aborted.
 */
#ifndef SMMU_SMMU_H
#define SMMU_SMMU_H

#include "hypervisor/partition.h"
#include "hypervisor/step.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

#define SMMU_REGISTER_BYTES UINT64_C(0x20000)
/* Offset of the page with the event queue's registers, which monitors use. */
#define SMMU_EVENT_REGISTERS UINT64_C(0x10000)

/* Memory that the SMMU and the monitors share. */
struct smmu_memory {
    uint64_t events;       /* address of the event queue's page */
    uint64_t commands;     /* address of the command queue's page */
    uint64_t streams;      /* address of the linear stream table */
    uint64_t stream_bytes; /* size of the stream table, in whole pages */
};

/* An event: DMA that the SMMU refused. */
struct smmu_event {
    uint32_t stream; /* address of the function: bus << 8 | device << 3 | function */
    /* Event number (IHI 0070, 7.3): 0x10 translation fault, 0x13 permission fault, ... */
    uint32_t type;
    uint64_t address; /* input address of the access, if this type of event has one */
    bool read;
    /* Index of the partition that owns the function, or DESCRIPTION_NO_PARTITION. */
    uint32_t partition;
};

/* Returns the size of pages that follow each other, from which smmu_boot() can allocate the stream
 * table. Also with the MMU off. */
uint64_t smmu_room(const struct description *system);

/*
 * Enables the board's SMMU, if the description has one. DMA of every stream is aborted then.
 * `stage2_roots`: by partition. `memory`: the caller has set `events` and `commands` to zeroed
 * pages; the function allocates the stream table from `pool` and sets the other fields. Returns
 * NULL, or the reason of a failure in static memory. A read from an address without an SMMU may
 * raise an exception instead. Boot core, before any partition runs.
 */
const char *smmu_boot(const struct description *system, struct page_pool *pool,
                      const uint64_t stage2_roots[], struct smmu_memory *memory);

/* Returns the number of the partition's functions whose DMA is confined to its memory by stage
 * 2. */
static inline uint32_t smmu_confined(const struct description_partition *partition)
{
    return partition->dma == DESCRIPTION_DMA_SMMU ? partition->function_count : 0;
}

/* Returns the number of the partition's functions that have a stream table entry: all that may be
 * bus masters, if the board has an SMMU. */
static inline uint32_t smmu_streams(const struct description *system,
                                    const struct description_partition *partition)
{
    return system->board.smmu != 0 && partition->dma != DESCRIPTION_DMA_NONE
               ? partition->function_count
               : 0;
}

/*
 * Aborts all DMA of the functions that the partition has. Returns STEP_PENDING while the SMMU, or a
 * change of another partition, is not done, and STEP_FAILED if the SMMU has stopped at an error:
 * DMA may still reach memory. When the function returns STEP_DONE, DMA that was translated before
 * has completed, too (IHI 0070, 3.21). `change` is zero for the first call. A caller that does not
 * call again after STEP_PENDING or STEP_FAILED calls smmu_end_change(). Done at once without an
 * SMMU. Boot core of the partition. The board has one command queue, which one partition uses at a
 * time.
 */
enum step_outcome smmu_block_dma(const struct partition *partition, struct smmu_change *change);

/* Permits DMA of the partition's functions as the system file says: translated by stage 2, or
 * untranslated. Otherwise like smmu_block_dma(). */
enum step_outcome smmu_permit_dma(const struct partition *partition, struct smmu_change *change);

#define SMMU_ALL_FUNCTIONS UINT32_MAX

/* Do the same for `functions` alone: bit i for function i. */
enum step_outcome smmu_block_functions(const struct partition *partition, uint32_t functions,
                                       struct smmu_change *change);
enum step_outcome smmu_permit_functions(const struct partition *partition, uint32_t functions,
                                        struct smmu_change *change);

/* Makes the entry of a function whose DMA is blocked translate by the partition's stage 2 once DMA
 * is permitted. `stream`: of the function, which the partition gets (partition/ownership.h).
 * `root`: of the stage 2 that the SMMU uses. */
void smmu_set_stage2(const struct partition *partition, uint32_t stream, uint64_t root);

/* Waits for the end of a change that has begun, and ends it. Returns STEP_PENDING while the SMMU is
 * not done, then STEP_DONE. Boot core of the partition. */
enum step_outcome smmu_settle(const struct partition *partition, struct smmu_change *change);

/* Ends the partition's use of the command queue. If the SMMU has not consumed its commands, every
 * later change fails until the SMMU has consumed them. */
void smmu_end_change(const struct partition *partition, struct smmu_change *change);

/*
 * Removes the oldest event from the queue and sets *event. Returns false if the queue is empty, or
 * if the partition has no access to it. Events that the SMMU discarded at an overflow are not
 * reported. Any core.
 */
bool smmu_event(const struct partition *partition, struct smmu_event *event);

/* Disables the queue's interrupt (board.smmu_interrupt), so that further events cost no core
 * anything. Events stay in the queue; the SMMU discards those that find it full. `now`: value of
 * CNTPCT_EL0. Any core. */
void smmu_pause_events(const struct partition *partition, uint64_t now);

/* Enables the queue's interrupt, if it is disabled, and makes it pending if the queue has events,
 * or if the partition has no access to the queue. Any core. */
void smmu_resume_events(const struct partition *partition);

/* Returns the time at which the queue's interrupt was disabled, or 0 if it is enabled. */
uint64_t smmu_paused_since(void);

#endif
