/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exact decimal value of a double. A digit is named by its position: the digit at position p
 * counts 10^p, so that 0 is the last digit in front of the decimal point. All functions are bounded
 * in time, and use integers only.
 */
#ifndef LIBC_DECIMAL_H
#define LIBC_DECIMAL_H

#include <stdint.h>

#define DECIMAL_CHUNK_DIGITS 9

/* A double has at most 1,074 digits behind the point, and its first one that is not 0 is at most
 * 767 digits in front of its last one. */
#define DECIMAL_CHUNKS_MAX 88

struct decimal {
    uint32_t chunks[DECIMAL_CHUNKS_MAX]; /* 9 digits each; the first is 0, for a carry */
    int count;
    int point; /* number of chunks in front of the decimal point; 0 or less in a small fraction */
};

/* Sets *decimal to the magnitude of the finite double with these bits. */
void decimal_set(struct decimal *decimal, uint64_t bits);

/* Returns the digit at a position, 0..9. */
unsigned decimal_digit(const struct decimal *decimal, long position);

/* Return the position of the first or the last digit that is not 0; 0 if the value is 0. */
long decimal_first(const struct decimal *decimal);
long decimal_last(const struct decimal *decimal);

/* Rounds to the nearest value without digits behind `position`, and to an even digit there if two
 * are as near. */
void decimal_round(struct decimal *decimal, long position);

#endif
