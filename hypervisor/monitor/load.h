/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of a partition's memory at each start. */
#ifndef MONITOR_LOAD_H
#define MONITOR_LOAD_H

#include "hypervisor/partition.h"

/* Zeroes the partition's memory, copies its images there, and cleans both to the point of
 * coherency. None of the partition's cores runs its guest. */
void load_partition(const struct partition *partition);

/* Cleans and invalidates the data cache lines of [at, end), which is not empty, to the point of
 * coherency. */
void load_clean(uint64_t at, uint64_t end);

#endif
