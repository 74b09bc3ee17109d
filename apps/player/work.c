/* SPDX-License-Identifier: BSD-2-Clause */
#include "work.h"

#include <time.h>

#define NS_PER_S 1000000000ull
#define STEPS    2000u /* between two looks at the clock: some microseconds */

uint64_t work_clock(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

void work_until(uint64_t end)
{
    static volatile uint64_t result; /* so that the compiler keeps the loop */
    uint64_t value = result;

    while (work_clock() < end) {
        for (unsigned step = 0; step < STEPS; step++) {
            value = value * 6364136223846793005ull + 1442695040888963407ull; /* Knuth, MMIX */
        }
    }
    result = value;
}
