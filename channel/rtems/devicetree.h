/* SPDX-License-Identifier: BSD-2-Clause */
/* The partition's memory and devicetree, for the files of this port. */
#ifndef CHANNEL_RTEMS_DEVICETREE_H
#define CHANNEL_RTEMS_DEVICETREE_H

#include <rtems.h>
#include <stdint.h>

/* Maps memory at its physical address. `flags`: AARCH64_MMU_* of <libcpu/mmu-vmsav8-64.h>. Returns
 * RTEMS_INVALID_ADDRESS if a pointer can't address it, or what aarch64_mmu_map() returns. Task
 * context. */
rtems_status_code partition_map(uint64_t physical, uint64_t bytes, uint64_t flags);

#endif
