/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the virtual PL031 (Arm DDI 0224). */
#include "rtc/rtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECONDS UINT64_C(0x1689abcde)

static uint64_t read_word(uint64_t offset)
{
    struct access access = {.offset = offset, .bytes = 4};

    assert_int_equal(rtc_access(SECONDS, &access), ACCESS_DONE);
    return access.value;
}

static enum access_result attempt(uint64_t offset, uint8_t bytes, bool write)
{
    struct access access = {.offset = offset, .value = 0x77, .bytes = bytes, .write = write};
    enum access_result result = rtc_access(SECONDS, &access);

    if (!write) {
        assert_int_equal(access.value, 0);
    }
    return result;
}

static void test_registers(void **state)
{
    static const uint8_t identification[] = {0x31, 0x10, 0x04, 0x00, 0x0d, 0xf0, 0x05, 0xb1};

    (void)state;
    assert_int_equal(read_word(0x000), SECONDS & UINT32_MAX);
    assert_int_equal(read_word(0x004), 0); /* RTCMR */
    assert_int_equal(read_word(0x00c), 1); /* RTCCR: it runs */
    assert_int_equal(read_word(0x014), 0); /* RTCRIS: no alarm */
    for (unsigned i = 0; i < sizeof(identification); i++) {
        assert_int_equal(read_word(0xfe0 + UINT64_C(4) * i), identification[i]);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(attempt(0x008, 4, true), ACCESS_REFUSED); /* RTCLR would set the clock */
    assert_int_equal(attempt(0x010, 4, true), ACCESS_REFUSED); /* RTCIMSC */
    assert_int_equal(attempt(0x00c, 4, true), ACCESS_DONE);
    assert_int_equal(attempt(0x01c, 4, true), ACCESS_DONE);
    assert_int_equal(attempt(0x000, 8, false), ACCESS_REFUSED);
    assert_int_equal(attempt(0x000, 1, false), ACCESS_REFUSED);
    assert_int_equal(attempt(0x002, 4, false), ACCESS_REFUSED);
    assert_int_equal(attempt(0x020, 4, false), ACCESS_REFUSED);
    assert_int_equal(attempt(0xfdc, 4, false), ACCESS_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
