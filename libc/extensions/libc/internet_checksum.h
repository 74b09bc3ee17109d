/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum (RFC 1071). */
#ifndef LIBC_INTERNET_CHECKSUM_H
#define LIBC_INTERNET_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * The 16-bit ones' complement sum, not inverted, of `bytes` bytes at any address; an odd last byte
 * is followed by a zero. The result has the byte order of a checksum field in memory, so that
 * ~result can be stored there without conversion (RFC 1071, 2(B)), as lwIP expects of LWIP_CHKSUM.
 * Zero only if all bytes are zero. Any context.
 */
uint16_t internet_checksum(const void *data, size_t bytes);

/* Copies like memcpy(), and returns the same sum of what it copied. */
uint16_t internet_checksum_copy(void *restrict destination, const void *restrict source,
                                size_t bytes);

#endif
