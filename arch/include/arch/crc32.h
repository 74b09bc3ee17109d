/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 (IEEE 802.3, 3.2.9; bits reflected), byte by byte: of the description and of a manager's
 * images (hypercalls.h), and of partition tables. The functions are inline because two parts of the
 * hypervisor's image use them: the check of the description, whose code is not mapped after boot,
 * and the check of images, which monitors make.
 */
#ifndef ARCH_CRC32_H
#define ARCH_CRC32_H

#include <stdint.h>

/* The remainder before the first byte. The checksum is the complement of the remainder after the
 * last byte. */
#define CRC32_INITIAL UINT32_C(0xffffffff)

/* Returns the remainder after one more byte. */
static inline uint32_t crc32_add_byte(uint32_t remainder, uint8_t byte)
{
    /* Indexed by the remainder's four lowest bits: the result of four steps of the division by the
     * polynomial. */
    static const uint32_t of_nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };

    remainder ^= byte;
    remainder = remainder >> 4 ^ of_nibble[remainder & 0xf];
    return remainder >> 4 ^ of_nibble[remainder & 0xf];
}

#endif
