/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum for little-endian machines without an implementation in assembly: adds 32
 * bits at a time to a 64-bit sum. */
#include "libc/internet_checksum.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the last odd byte is a low one");

uint16_t internet_checksum(const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    uint64_t sum = 0;
    uint32_t word;

    /* 2^32 additions fit, because the carries add up in the upper half, which is folded in at the
     * end.
     */
    for (; bytes >= 4; bytes -= 4, byte += 4) {
        memcpy(&word, byte, 4);
        sum += word;
    }
    word = 0;
    for (size_t i = 0; i < bytes; i++) {
        word |= (uint32_t)byte[i] << (8 * i);
    }
    sum += word;
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

uint16_t internet_checksum_copy(void *restrict destination, const void *restrict source,
                                size_t bytes)
{
    memcpy(destination, source, bytes);
    return internet_checksum(destination, bytes);
}
