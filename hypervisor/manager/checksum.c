/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager/checksum.h"

#include <arch/crc32.h>

uint32_t checksum_add(uint32_t before, const void *part, size_t bytes)
{
    const uint8_t *byte = part;
    uint32_t remainder = ~before;

    for (size_t i = 0; i < bytes; i++) {
        remainder = crc32_add_byte(remainder, byte[i]);
    }
    return ~remainder;
}
