/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SMMUv3 (Arm IHI 0070): DMA of functions that belong to partitions with `dma = "smmu"` goes
 * through the partition's own stage 2, all other DMA is aborted. A function's stream is its PCI
 * address, as on boards whose `iommu-map` is one to one. Nothing is changed after boot.
 */
#ifndef SMMU_SMMU_H
#define SMMU_SMMU_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

/* What the monitors that read events have to map as device registers: both register pages. */
#define SMMU_REGISTER_BYTES UINT64_C(0x20000)

/* DMA that was refused. */
struct smmu_event {
    uint32_t stream;  /* the function: bus << 8 | device << 3 | function */
    uint32_t type;    /* IHI 0070, 7.3: 0x10 translation, 0x13 permission, ... */
    uint64_t address; /* where to, if the type has one: the address that the device put out */
    bool read;
};

/*
 * Switches the board's SMMU on, if the description has one; `stage2_roots` by partition. NULL, or
 * what is wrong with it, in static memory. A read from where nothing is may fault instead.
 * Boot core, before any partition runs.
 */
const char *smmu_boot(const struct description *system, struct page_pool *pool,
                      const uint64_t stage2_roots[]);

/* The page with the events: normal memory, for the monitors that read them. After smmu_boot(). */
uint64_t smmu_event_queue(const struct description *system);

/*
 * Takes one event out of the queue; false: there is none. What an overflow lost is not told. For
 * who gets the event queue's interrupt (board.smmu_interrupt, edge): until it answers false. One
 * core.
 */
bool smmu_event(const struct description *system, struct smmu_event *event);

#endif
