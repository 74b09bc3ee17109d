/* SPDX-License-Identifier: BSD-2-Clause */
#include "work.h"

#include <time.h>

#define NS_PER_S 1000000000ull
#define TRIES    200
#define STEPS    20000ull

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

void work(uint64_t steps)
{
    static volatile uint64_t result; /* so that the compiler keeps the loop */
    uint64_t value = result;

    for (uint64_t step = 0; step < steps; step++) {
        value = value * 6364136223846793005ull + 1442695040888963407ull; /* Knuth, MMIX */
    }
    result = value;
}

uint64_t work_steps(unsigned percent, uint64_t period_ns)
{
    uint64_t fastest = UINT64_MAX;

    for (unsigned tries = 0; percent != 0 && tries < TRIES; tries++) {
        uint64_t start = now();
        uint64_t taken;

        work(STEPS);
        taken = now() - start;
        fastest = taken < fastest ? taken : fastest;
    }
    return percent * (period_ns / 100) * STEPS / fastest;
}
