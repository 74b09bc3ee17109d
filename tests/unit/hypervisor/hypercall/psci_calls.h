/* SPDX-License-Identifier: BSD-2-Clause */
/* A partition that makes calls. It has three VCPUs, and VCPU 0 is on. */
#ifndef HYPERVISOR_TEST_CALLS_H
#define HYPERVISOR_TEST_CALLS_H

#include "hypervisor/partition.h"
#include <stddef.h>

#define CALLS_CORES         5u
#define CALLS_VCPUS         3u
#define CALLS_MEMORY        UINT64_C(0x40000000)
#define CALLS_SECOND_MEMORY UINT64_C(0x80000000)
#define CALLS_MEMORY_BYTES  UINT64_C(0x200000)
#define CALLS_DEVICE        UINT64_C(0x0a000000)
#define CALLS_STEP_BYTES    16u

extern struct partition calls_partition;

void calls_reset(void);

/* Turns each CALLS_STEP_BYTES into a call of one of its VCPUs. Ends the program if a call affects
 * anything of others, or has an effect that its result does not report. */
void calls_run(const uint8_t *data, size_t bytes);

#endif
