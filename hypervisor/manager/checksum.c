/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager/checksum.h"

/* Four steps of the division, bits reflected: the entry of the four lowest bits of the remainder.
 */
static const uint32_t steps[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t checksum_add(uint32_t before, const void *part, size_t bytes)
{
    const uint8_t *byte = part;
    uint32_t crc = ~before;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= byte[i];
        crc = crc >> 4 ^ steps[crc & 0xf];
        crc = crc >> 4 ^ steps[crc & 0xf];
    }
    return ~crc;
}
