/* SPDX-License-Identifier: BSD-2-Clause */
/* Generates random traffic, half of it to registers that exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traffic.h"

#define STEPS 1000u
#define RUNS  300u

static uint64_t random_state = 1;

/* xorshift64* */
static uint32_t random_word(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(random_state * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

static void test_traffic(void **state)
{
    static uint8_t data[STEPS * TRAFFIC_STEP_BYTES];

    (void)state;
    for (unsigned run = 0; run < RUNS; run++) {
        for (size_t at = 0; at < sizeof(data); at++) {
            data[at] = (uint8_t)random_word();
        }
        for (size_t at = 0; at < sizeof(data); at += TRAFFIC_STEP_BYTES) {
            uint8_t *step = data + at;

            if (random_word() % 2 == 0) {
                step[2] &= 0xf; /* most registers are below 0x1000 */
            }
            if (random_word() % 4 == 0) {
                /* Word 1 of registers with a bit per interrupt. */
                step[1] = (uint8_t)(0x80 * (step[1] & 1) + 4);
            }
            if (random_word() % 4 == 0) {
                step[4] = (uint8_t)(step[4] & 3); /* affinities that exist */
                step[5] = step[6] = step[7] = step[8] = 0;
            }
        }
        traffic_run(data, sizeof(data));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_traffic)};

    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
