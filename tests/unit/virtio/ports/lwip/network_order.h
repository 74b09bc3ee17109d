/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes numbers in network byte order, the most significant byte first. */
#ifndef TESTS_NETWORK_ORDER_H
#define TESTS_NETWORK_ORDER_H

#include <stdint.h>

static inline void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static inline void put32(uint8_t *bytes, uint32_t value)
{
    put16(bytes, value >> 16);
    put16(bytes + 2, value);
}

#endif
