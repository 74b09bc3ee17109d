/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32 (IEEE 802.3), in parts. */
#ifndef MANAGER_CHECKSUM_H
#define MANAGER_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of a part and of all parts before it, whose checksum is `before`; 0: none.
 */
uint32_t checksum_add(uint32_t before, const void *part, size_t bytes);

#endif
