/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks colours of the last-level cache. Also with the MMU off. */
#ifndef DESCRIPTION_COLOUR_CHECK_H
#define DESCRIPTION_COLOUR_CHECK_H

#include "hypervisor/description.h"
#include <stdbool.h>

/* Returns true if the hypervisor's colours are valid, or nothing has colours. In a system with
 * colours nothing is shared by partitions: no channel, no shared device, no staging memory. */
bool colour_check_own(const struct description *system);

/* Checks the colours of a partition's memories and of the copies of its images, after
 * colour_check_own() and after description_check() has validated the partitions otherwise. No other
 * owner has these colours, and the pages exist and overlap nothing. `partition`: index. Returns
 * NULL if they are valid. Otherwise returns what is wrong, and sets *value to the physical address
 * of the first page. */
const char *colour_check(const struct description *system, uint32_t partition, uint64_t *value);

#endif
