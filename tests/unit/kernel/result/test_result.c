/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of results. */
#include "kernel_fixture.h"

static void test_result_texts(void **state)
{
    (void)state;
    assert_string_equal(result_text(RESULT_TIMED_OUT), "timed out");
    for (unsigned any = 0; any <= RESULT_UNSUPPORTED; any++) {
        assert_string_not_equal(result_text((enum result)any), "unknown result");
    }
    /* A value that is none. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
    assert_string_equal(result_text((enum result)1234), "unknown result");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
