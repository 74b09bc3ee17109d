/* SPDX-License-Identifier: BSD-2-Clause */
/* Malicious peers with random programs, which write before each load of the library. */
#include "malicious.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PROGRAMS  6000u
#define BYTES_MAX 1500u
#define STEPS_MIN 1000000u

static void test_random_programs(void **state)
{
    static uint8_t program[BYTES_MAX];
    uint64_t random = 88172645463325252u;
    uint64_t steps = 0;

    (void)state;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        for (unsigned j = 0; j < BYTES_MAX; j++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            program[j] = (uint8_t)(random >> 32);
        }
        steps += malicious_run(program, sizeof(program));
    }
    assert_true(steps > STEPS_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};

    return cmocka_run_group_tests_name("malicious", tests, NULL, NULL);
}
