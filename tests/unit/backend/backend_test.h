/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the tests of backend/ share. */
#ifndef BACKEND_TEST_H
#define BACKEND_TEST_H

/* cmocka.h needs these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000) /* ns */

/* Returns the next of a repeatable sequence of pseudorandom numbers (SplitMix64), reduced to
 * 0 .. `limit` - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % limit;
}

static inline uint64_t random_between(uint64_t *state, uint64_t least, uint64_t most)
{
    return least + random_below(state, most - least + 1);
}

#endif
