/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of schedule/ share. */
#ifndef SCHEDULE_TEST_H
#define SCHEDULE_TEST_H

/* cmocka.h needs these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A repeatable sequence of pseudorandom numbers (xorshift64). The state is not 0. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % limit;
}

static inline uint64_t random_between(uint64_t *state, uint64_t least, uint64_t most)
{
    return least + random_below(state, most - least + 1);
}

#endif
