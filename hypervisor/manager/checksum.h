/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32 (IEEE 802.3) of data that arrives in parts. */
#ifndef MANAGER_CHECKSUM_H
#define MANAGER_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of a part and all parts before it. `before`: the checksum of the parts
 * before; 0 for the first part. */
uint32_t checksum_add(uint32_t before, const void *part, size_t bytes);

#endif
