/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of owners: what a file may contain, and whom an address belongs to. */
#include "model_test.h"
#include "owners.h"
#include <string.h>

static struct owners owners;

static const char *read_text(const char *text)
{
    FILE *file = tmpfile();
    const char *error;

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    rewind(file);
    error = owners_read(&owners, file);
    (void)fclose(file);
    return error;
}

static const char *name_at(uint64_t address)
{
    return owners.names[owners_find(&owners, address)];
}

static void test_addresses(void **state)
{
    (void)state;
    assert_null(read_text("40400000 200000 b\n0x40000000 0x1000 hypervisor\n40200000 200000 a\n"
                          "50000000 1000 hypervisor\nfffffffffffff000 1000 top\n"));
    assert_int_equal(owners.count, 5);
    for (unsigned turn = 0; turn < 2; turn++) {
        assert_string_equal(name_at(0x3fffffff), "other");
        assert_string_equal(name_at(0x40000000), "hypervisor");
        assert_string_equal(name_at(0x40000fff), "hypervisor");
        assert_string_equal(name_at(0x40001000), "other");
        assert_string_equal(name_at(0x40200000), "a");
        assert_string_equal(name_at(0x403fffff), "a");
        assert_string_equal(name_at(0x40400000), "b");
        assert_string_equal(name_at(0x405fffff), "b");
        assert_string_equal(name_at(0x40600000), "other");
        assert_string_equal(name_at(0x50000800), "hypervisor");
        assert_string_equal(name_at(UINT64_MAX), "top");
        assert_string_equal(name_at(0), "other");
    }
    assert_int_equal(owners.starts[owners_named(&owners, "hypervisor")], 0x40000000);
    assert_int_equal(owners.starts[owners_named(&owners, "b")], 0x40400000);
    assert_int_equal(owners.starts[owners_named(&owners, "other")], 0);
    assert_int_equal(owners_named(&owners, "c"), OWNERS_MAX);
}

static void test_no_ranges(void **state)
{
    (void)state;
    assert_null(read_text(""));
    assert_int_equal(owners.count, 1);
    assert_int_equal(owners_find(&owners, 0), OWNER_OTHER);
    assert_int_equal(owners_find(&owners, UINT64_MAX), OWNER_OTHER);
}

static void test_wrong_files(void **state)
{
    static const char *const wrong[] = {
        "\n",
        "1000\n",
        "1000 1000\n",
        "1000 1000 \n",
        "1000 1000 a b\n",
        "1000 1000 a\"\n",
        "1000 1000 a\\\n",
        "1000 1000 a\tb\n",
        "-1 1000 a\n",
        " 1000 1000 a\n",
        "g 1000 a\n",
        "1000 g a\n",
        "1000 0 a\n",
        "fffffffffffff000 1001 a\n",
        "1000 1001 a\n2000 1000 b\n",
        "1000 1000 a\n1000 1000 a\n",
        "1000 1000 abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(read_text(wrong[i]));
    }
}

static void test_long_lines(void **state)
{
    char text[1024];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_non_null(read_text(text));
}

static void write_ranges(char *text, size_t bytes, unsigned count, unsigned names)
{
    size_t used = 0;

    for (unsigned i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%x000 1000 n%u\n", i, i % names);
    }
}

static void test_limits(void **state)
{
    static char text[OWNER_RANGES_MAX * 32];

    (void)state;
    write_ranges(text, sizeof(text), OWNER_RANGES_MAX, OWNERS_MAX - 1);
    assert_null(read_text(text));
    assert_int_equal(owners.count, OWNERS_MAX);
    assert_string_equal(name_at(UINT64_C(0x3e000)), "n62");
    write_ranges(text, sizeof(text), OWNER_RANGES_MAX + 1, OWNERS_MAX - 1);
    assert_non_null(read_text(text));
    write_ranges(text, sizeof(text), OWNERS_MAX, OWNERS_MAX);
    assert_non_null(read_text(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_no_ranges),
        cmocka_unit_test(test_wrong_files), cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
