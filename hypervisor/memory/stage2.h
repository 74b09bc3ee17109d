/* SPDX-License-Identifier: BSD-2-Clause */
/* What a partition reaches without asking: its memory, its devices' registers, its PCI windows. */
#ifndef HYPERVISOR_STAGE2_H
#define HYPERVISOR_STAGE2_H

#include "hypervisor/description.h"
#include "memory/tables.h"

/* Its root's physical address; 0: the pool is empty, or something is described twice. */
uint64_t stage2_build(const struct description_partition *partition, struct page_pool *pool);

#endif
