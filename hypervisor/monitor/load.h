/* SPDX-License-Identifier: BSD-2-Clause */
/* A partition's memory as it is when the partition begins. */
#ifndef MONITOR_LOAD_H
#define MONITOR_LOAD_H

#include "hypervisor/partition.h"

/* Zeroes all of it and copies the images, to the point of coherency. Its cores stand still. */
void load_partition(const struct partition *partition);

/* Cleans and invalidates the data cache's lines of [at, end), not empty, to the point of
 * coherency. */
void load_clean(uint64_t at, uint64_t end);

#endif
