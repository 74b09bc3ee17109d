/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the conversion between ticks and nanoseconds with 128-bit arithmetic. */
#include "kernel_fixture.h"
#include "time/clock_conversion.h"

#define CENTURIES UINT64_C(18000000000000000000) /* ns: 570 years */

static const uint64_t frequencies[] = {
    1000000,    19200000,   24000000,   25000000,   27000000,    31250000,     54000000,
    62500000,   100000000,  125000000,  999999937,  999999999,   1000000000,   1000000007,
    1200000000, 1500000001, 2000000000, 3999999979, 4294967295u, 18400000000u,
};
#define FREQUENCIES (sizeof(frequencies) / sizeof(frequencies[0]))

__extension__ typedef unsigned __int128 wide;

static uint64_t exact_nanoseconds(uint64_t ticks, uint64_t frequency)
{
    return (uint64_t)((wide)ticks * NANOSECONDS_PER_SECOND / frequency);
}

/* Returns the largest number of ticks whose time fits into 64 bits. */
static uint64_t ticks_limit(uint64_t frequency)
{
    wide limit = (wide)CENTURIES * frequency / NANOSECONDS_PER_SECOND;

    return limit > UINT64_MAX ? UINT64_MAX : (uint64_t)limit;
}

/* Returns numbers of all magnitudes. */
static uint64_t random_magnitude(uint64_t *random, uint64_t limit)
{
    uint64_t value = random_next(random) >> random_below(random, 64);

    return value % limit;
}

static void check_ticks(uint64_t ticks, uint64_t frequency)
{
    uint64_t nanoseconds = clock_ticks_to_nanoseconds(ticks, frequency);

    assert_true(nanoseconds == exact_nanoseconds(ticks, frequency));
    assert_true(clock_ticks_to_nanoseconds(ticks + 1, frequency) >= nanoseconds);
}

static void test_ticks_to_nanoseconds_is_exact(void **state)
{
    uint64_t random = 3;

    (void)state;
    for (unsigned f = 0; f < FREQUENCIES; f++) {
        uint64_t limit = ticks_limit(frequencies[f]);

        for (uint64_t ticks = 0; ticks < 1000; ticks++) {
            check_ticks(ticks, frequencies[f]);
            check_ticks(limit - 1000 + ticks, frequencies[f]);
            check_ticks(frequencies[f] * 1000 - 500 + ticks, frequencies[f]);
        }
        for (unsigned i = 0; i < 20000; i++) {
            check_ticks(random_magnitude(&random, limit), frequencies[f]);
        }
    }
}

static void check_nanoseconds(uint64_t nanoseconds, uint64_t frequency)
{
    uint64_t ticks = clock_nanoseconds_to_ticks(nanoseconds, frequency);
    wide exact =
        ((wide)nanoseconds * frequency + NANOSECONDS_PER_SECOND - 1) / NANOSECONDS_PER_SECOND;

    assert_true(ticks == (exact > UINT64_MAX ? UINT64_MAX : (uint64_t)exact));
    if (nanoseconds <= CENTURIES && ticks != UINT64_MAX) {
        /* Neither before the deadline nor a tick too late. */
        assert_true(clock_ticks_to_nanoseconds(ticks, frequency) >= nanoseconds);
        assert_true(ticks == 0 || exact_nanoseconds(ticks - 1, frequency) < nanoseconds);
    }
}

static void test_alarm_is_the_first_tick_not_early(void **state)
{
    uint64_t random = 5;

    (void)state;
    for (unsigned f = 0; f < FREQUENCIES; f++) {
        for (uint64_t nanoseconds = 0; nanoseconds < 2000; nanoseconds++) {
            check_nanoseconds(nanoseconds, frequencies[f]);
            check_nanoseconds(UINT64_MAX - nanoseconds, frequencies[f]);
        }
        for (unsigned i = 0; i < 20000; i++) {
            check_nanoseconds(random_magnitude(&random, CENTURIES), frequencies[f]);
        }
    }
}

static void test_random_frequencies(void **state)
{
    uint64_t random = 11;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t frequency = 1000000 + random_below(&random, UINT64_C(4293967296));
        uint64_t ticks = random_magnitude(&random, ticks_limit(frequency));

        check_ticks(ticks, frequency);
        check_nanoseconds(random_magnitude(&random, CENTURIES), frequency);
    }
}

static unsigned sleeps;

static void init_sleep(void)
{
    uint64_t random = 13;

    for (sleeps = 0; sleeps < 500; sleeps++) {
        uint64_t deadline = time_after(1 + random_below(&random, 5000));

        thread_sleep_until(deadline);
        CHECK(time_now() >= deadline);
        CHECK(time_now() < deadline + 1001); /* one tick of the slowest clock */
    }
}

static void test_sleep_at_many_frequencies(void **state)
{
    (void)state;
    for (unsigned f = 0; f < FREQUENCIES; f++) {
        host_clock_set_frequency(frequencies[f]);
        kernel_run(init_sleep);
        assert_int_equal(sleeps, 500);
    }
    host_clock_set_frequency(UINT64_C(1000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks_to_nanoseconds_is_exact),
        cmocka_unit_test(test_alarm_is_the_first_tick_not_early),
        cmocka_unit_test(test_random_frequencies),
        cmocka_unit_test(test_sleep_at_many_frequencies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
