/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka, and random numbers that are the same in each run. */
#ifndef MODEL_TEST_H
#define MODEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* xorshift64; the state is not 0. Returns a number below `limit`. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % limit;
}

#endif
