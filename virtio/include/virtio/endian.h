/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Little-endian numbers in memory shared with a device (VIRTIO 1.3, 1.4). Conversion is its own
 * inverse, and costs nothing on a little-endian processor.
 */
#ifndef VIRTIO_ENDIAN_H
#define VIRTIO_ENDIAN_H

#include <stdbool.h>
#include <stdint.h>

static inline bool virtio_big_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static inline uint16_t virtio_le16(uint16_t value)
{
    return virtio_big_endian() ? __builtin_bswap16(value) : value;
}

static inline uint32_t virtio_le32(uint32_t value)
{
    return virtio_big_endian() ? __builtin_bswap32(value) : value;
}

static inline uint64_t virtio_le64(uint64_t value)
{
    return virtio_big_endian() ? __builtin_bswap64(value) : value;
}

#endif
