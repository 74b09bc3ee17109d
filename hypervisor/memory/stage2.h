/* SPDX-License-Identifier: BSD-2-Clause */
/* A partition's stage 2 tables, which map its memory, its devices' registers and its PCI
 * windows. */
#ifndef HYPERVISOR_STAGE2_H
#define HYPERVISOR_STAGE2_H

#include "hypervisor/description.h"
#include "memory/tables.h"

/* Builds the tables with pages of `pool`. `partition`: index. Returns the physical address of their
 * root, or 0 if the pool is empty or if ranges of the description overlap. */
uint64_t stage2_build(const struct description *system, uint32_t partition, struct page_pool *pool);

/* Maps the kept memory of the partition's standby, read-only, in the tables at `root`, if the
 * partition reads it. A partition with a standby has no colours. Returns false if the pool is
 * empty. */
bool stage2_map_standby(uint64_t root, const struct description_partition *partition,
                        const struct description_partition *standby, struct page_pool *pool);

#endif
