/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the generic watchdog against the rules of SBSA and BSA (Arm DEN0029, DEN0094). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watchdog/generic_watchdog.h"

#include <devices/watchdog_registers.h>

#define WOR_HIGH (WOR + 4u)
#define WCV_HIGH (WCV + 4u)
#define START    UINT64_C(0x123456789)
#define BOTH     (WCS_SIGNAL0 | WCS_SIGNAL1)

static struct generic_watchdog watchdog;
static uint64_t now;

static int setup(void **state)
{
    (void)state;
    watchdog = (struct generic_watchdog){.offset = 0};
    now = START;
    return 0;
}

static void write_control(uint64_t offset, uint8_t bytes, uint64_t value)
{
    struct access access = {.offset = offset, .value = value, .bytes = bytes, .write = true};

    assert_int_equal(generic_watchdog_access_control(&watchdog, now, &access), ACCESS_DONE);
}

static uint64_t read_control(uint64_t offset, uint8_t bytes)
{
    struct access access = {.offset = offset, .value = UINT64_MAX, .bytes = bytes};

    assert_int_equal(generic_watchdog_access_control(&watchdog, now, &access), ACCESS_DONE);
    return access.value;
}

static void write_refresh(uint32_t value)
{
    struct access access = {.offset = WRR, .value = value, .bytes = 4, .write = true};

    assert_int_equal(generic_watchdog_access_refresh(&watchdog, now, &access), ACCESS_DONE);
}

/* Lets the time pass up to `time`. Returns the signals that are asserted on the way. */
static uint32_t pass_until(uint64_t time)
{
    now = time;
    return generic_watchdog_advance(&watchdog, now);
}

/* Enables the watchdog at START with this offset. */
static void enable(uint32_t offset)
{
    write_control(WOR, 4, offset);
    write_control(WCS, 4, WCS_ENABLE);
}

static void reset_disables_it(void **state)
{
    (void)state;
    assert_int_equal(read_control(WCS, 4), 0);
    assert_int_equal(read_control(WOR, 8), 0);
    assert_true(generic_watchdog_due(&watchdog) == UINT64_MAX);
    assert_int_equal(pass_until(UINT64_MAX), 0);
}

/* The signal is asserted when the counter is greater than the compare value, not when it is equal.
 */
static void first_signal_then_second(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(generic_watchdog_due(&watchdog), START + 101);
    assert_int_equal(pass_until(START + 100), 0);
    assert_int_equal(pass_until(START + 101), WCS_SIGNAL0);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE | WCS_SIGNAL0);
    /* The timeout has loaded the compare value: another watch period. */
    assert_int_equal(read_control(WCV, 8), START + 201);
    assert_int_equal(pass_until(START + 201), 0);
    assert_int_equal(pass_until(START + 202), WCS_SIGNAL1);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE | BOTH);
    /* Nothing more follows, and the compare value stays. */
    assert_true(generic_watchdog_due(&watchdog) == UINT64_MAX);
    assert_int_equal(pass_until(START + 100000), 0);
    assert_int_equal(read_control(WCV, 8), START + 201);
}

/* A late look finds both signals, and the second period began with the end of the first one. */
static void late_look(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 202), BOTH);
    setup(NULL);
    enable(100);
    assert_int_equal(pass_until(START + 150), WCS_SIGNAL0);
    assert_int_equal(read_control(WCV, 8), START + 201);
}

static void refresh_register_refreshes(void **state)
{
    static const uint32_t values[] = {0, 1, UINT32_MAX};

    (void)state;
    enable(100);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pass_until(now + 100), 0);
        write_refresh(values[i]);
        assert_int_equal(read_control(WCV, 8), now + 100);
    }
    assert_int_equal(pass_until(now + 101), WCS_SIGNAL0);
    write_refresh(0); /* ends the second period, too */
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE);
    assert_int_equal(pass_until(now + 100), 0);
    assert_int_equal(pass_until(now + 1), WCS_SIGNAL0);
}

static void refresh_clears_both_signals(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 1000), BOTH);
    write_refresh(0);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE);
    assert_int_equal(generic_watchdog_due(&watchdog), now + 101);
}

static void write_to_the_offset_refreshes(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 101), WCS_SIGNAL0);
    write_control(WOR, 4, 50);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE);
    assert_int_equal(read_control(WCV, 8), now + 50);
}

/* The signals can't be written. */
static void write_to_the_status_refreshes(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 101), WCS_SIGNAL0);
    write_control(WCS, 4, UINT32_MAX);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE);
    assert_int_equal(read_control(WCV, 8), now + 100);
}

static void compare_value_can_be_written(void **state)
{
    (void)state;
    enable(100);
    write_control(WCV, 4, (uint32_t)(START + 10));
    assert_int_equal(read_control(WCV, 8), START + 10);
    assert_int_equal(generic_watchdog_due(&watchdog), START + 11);
    assert_int_equal(pass_until(START + 11), WCS_SIGNAL0);
    /* It is no refresh: WS0 stays. */
    write_control(WCV, 8, START + 20);
    assert_int_equal(read_control(WCS, 4), WCS_ENABLE | WCS_SIGNAL0);
    assert_int_equal(pass_until(START + 21), WCS_SIGNAL1);
    setup(NULL);
    enable(100);
    write_control(WCV_HIGH, 4, 2);
    assert_int_equal(read_control(WCV, 4), (START + 100) & UINT32_MAX);
    assert_int_equal(read_control(WCV_HIGH, 4), 2);
}

static void compare_value_that_never_passes(void **state)
{
    (void)state;
    enable(1);
    write_control(WCV, 8, UINT64_MAX);
    assert_true(generic_watchdog_due(&watchdog) == UINT64_MAX);
    assert_int_equal(pass_until(UINT64_MAX), 0);
}

/* Version 1: WOR has 48 bits, in two registers. Each write refreshes with all of them. */
static void offset_of_two_registers(void **state)
{
    (void)state;
    enable(100);
    write_control(WOR_HIGH, 4, 0xffff0001);
    assert_int_equal(read_control(WOR, 8), UINT64_C(0x100000064));
    assert_int_equal(read_control(WOR_HIGH, 4), 1);
    assert_int_equal(read_control(WCV, 8), START + UINT64_C(0x100000064));
    write_control(WOR, 4, 5);
    assert_int_equal(read_control(WOR, 8), UINT64_C(0x100000005));
    write_control(WOR, 8, UINT64_MAX);
    assert_int_equal(read_control(WOR, 8), UINT64_C(0xffffffffffff));
}

/* A driver for version 0 writes the lower register only, and the upper one is 0 after a reset. */
static void offset_of_version_0(void **state)
{
    (void)state;
    write_control(WOR, 4, UINT32_MAX);
    assert_int_equal(read_control(WOR, 8), UINT32_MAX);
}

static void disabled_while_a_signal_is_asserted(void **state)
{
    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 101), WCS_SIGNAL0);
    write_control(WCS, 4, 0);
    assert_int_equal(read_control(WCS, 4), 0);
    assert_true(generic_watchdog_due(&watchdog) == UINT64_MAX);
    assert_int_equal(pass_until(START + 100000), 0);
    write_control(WCS, 4, WCS_ENABLE); /* refreshes: the time before does not count */
    assert_int_equal(pass_until(now + 100), 0);
}

static void offset_of_zero(void **state)
{
    (void)state;
    enable(0);
    assert_int_equal(pass_until(START), 0);
    assert_int_equal(pass_until(START + 1), WCS_SIGNAL0);
    assert_int_equal(pass_until(START + 2), WCS_SIGNAL1);
    assert_int_equal(pass_until(START + 3), 0);
}

static void reads_change_nothing(void **state)
{
    struct access access = {.offset = WRR, .value = 7, .bytes = 4};

    (void)state;
    enable(100);
    assert_int_equal(pass_until(START + 50), 0);
    assert_int_equal(generic_watchdog_access_refresh(&watchdog, now, &access), ACCESS_DONE);
    assert_int_equal(access.value, 0);
    (void)read_control(WCS, 4);
    (void)read_control(WOR, 4);
    assert_int_equal(read_control(WCV, 8), START + 100);
}

static void version_is_1(void **state)
{
    struct access access = {.offset = W_IIDR, .bytes = 4};

    (void)state;
    assert_int_equal(read_control(W_IIDR, 4) >> 16 & 0xf, 1);
    assert_int_equal(generic_watchdog_access_refresh(&watchdog, now, &access), ACCESS_DONE);
    assert_int_equal(access.value >> 16 & 0xf, 1);
}

/* Reserved offsets and other sizes: a read returns 0, and nothing is written. */
static void refusals(void **state)
{
    static const struct {
        uint64_t offset;
        uint8_t bytes;
    } places[] = {{0x004, 4},    {0x018, 4},  {0xfc8, 4},  {0xffc, 4}, {WCS, 8},
                  {WCS, 2},      {WCS, 1},    {WOR, 2},    {WOR, 1},   {WCV, 1},
                  {WCV_HIGH, 2}, {W_IIDR, 2}, {WCS + 2, 2}};

    (void)state;
    for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
        struct access access = {
            .offset = places[i].offset, .value = UINT32_MAX, .bytes = places[i].bytes};

        assert_int_equal(generic_watchdog_access_control(&watchdog, now, &access), ACCESS_REFUSED);
        assert_int_equal(access.value, 0);
        access.write = true;
        access.value = UINT32_MAX;
        assert_int_equal(generic_watchdog_access_control(&watchdog, now, &access), ACCESS_REFUSED);
        assert_int_equal(generic_watchdog_access_refresh(&watchdog, now, &access),
                         access.offset == WRR && access.bytes == 4 ? ACCESS_DONE : ACCESS_REFUSED);
        assert_int_equal(watchdog.offset | watchdog.compare | watchdog.status, 0);
    }
}

static void identification_is_read_only(void **state)
{
    struct access access = {.offset = W_IIDR, .value = 7, .bytes = 4, .write = true};

    (void)state;
    assert_int_equal(generic_watchdog_access_control(&watchdog, now, &access), ACCESS_REFUSED);
    assert_int_equal(generic_watchdog_access_refresh(&watchdog, now, &access), ACCESS_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reset_disables_it, setup),
        cmocka_unit_test_setup(first_signal_then_second, setup),
        cmocka_unit_test_setup(late_look, setup),
        cmocka_unit_test_setup(refresh_register_refreshes, setup),
        cmocka_unit_test_setup(refresh_clears_both_signals, setup),
        cmocka_unit_test_setup(write_to_the_offset_refreshes, setup),
        cmocka_unit_test_setup(write_to_the_status_refreshes, setup),
        cmocka_unit_test_setup(compare_value_can_be_written, setup),
        cmocka_unit_test_setup(compare_value_that_never_passes, setup),
        cmocka_unit_test_setup(offset_of_two_registers, setup),
        cmocka_unit_test_setup(offset_of_version_0, setup),
        cmocka_unit_test_setup(disabled_while_a_signal_is_asserted, setup),
        cmocka_unit_test_setup(offset_of_zero, setup),
        cmocka_unit_test_setup(reads_change_nothing, setup),
        cmocka_unit_test_setup(version_is_1, setup),
        cmocka_unit_test_setup(refusals, setup),
        cmocka_unit_test_setup(identification_is_read_only, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
