/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes more than a million random accesses and hardware events, the same ones in each run. */
#include "traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PROGRAMS      2000u
#define PROGRAM_BYTES 2500u

static uint8_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)(*seed >> 56);
}

static void test_random_traffic(void **state)
{
    static uint8_t program[PROGRAM_BYTES];
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        for (unsigned j = 0; j < PROGRAM_BYTES; j++) {
            program[j] = next_random(&seed);
        }
        traffic_run(program, sizeof(program));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traffic)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
