/* SPDX-License-Identifier: BSD-2-Clause */
#include "rogue.h"

uint64_t random_next(void)
{
    static uint64_t state = 88172645463325252;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
