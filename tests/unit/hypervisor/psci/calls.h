/* SPDX-License-Identifier: BSD-2-Clause */
/* A partition that calls: one with cores 0, 1 and 3 of five; 0 is on. */
#ifndef HYPERVISOR_TEST_CALLS_H
#define HYPERVISOR_TEST_CALLS_H

#include "hypervisor/partition.h"
#include <stddef.h>

#define CALLS_CORES         5u
#define CALLS_FAR_AFFINITY  UINT64_C(0x0700020312) /* core 3 */
#define CALLS_MEMORY        UINT64_C(0x40000000)
#define CALLS_SECOND_MEMORY UINT64_C(0x80000000)
#define CALLS_MEMORY_BYTES  UINT64_C(0x200000)
#define CALLS_DEVICE        UINT64_C(0x0a000000)
#define CALLS_STEP_BYTES    16u

extern struct partition calls_partition;

void calls_reset(void);

/* Makes of each CALLS_STEP_BYTES a call of one of its cores. Ends the program if one has an effect
 * on what is not the partition's, or that its answer does not tell. */
void calls_run(const uint8_t *data, size_t bytes);

#endif
