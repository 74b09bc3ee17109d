/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares sets of address ranges with a set of single addresses. */
#include "boot/memory_ranges.h"
#include "kernel_fixture.h"
#include <string.h>

#define SPACE 256u

static void expect_equal(const struct memory_ranges *ranges, const bool *model)
{
    bool found[SPACE] = {false};

    for (unsigned i = 0; i < ranges->count; i++) {
        assert_true(ranges->range[i].start < ranges->range[i].end);
        assert_true(ranges->range[i].end <= SPACE);
        /* The ranges are sorted and have gaps in between. */
        assert_true(i == 0 || ranges->range[i - 1].end < ranges->range[i].start);
        for (uint64_t at = ranges->range[i].start; at < ranges->range[i].end; at++) {
            found[at] = true;
        }
    }
    assert_memory_equal(found, model, sizeof found);
}

static void test_against_model(void **state)
{
    struct memory_ranges ranges = {.count = 0};
    bool model[SPACE] = {false};
    uint64_t seed = 1;

    (void)state;
    for (unsigned step = 0; step < 200000; step++) {
        uint64_t start = random_below(&seed, SPACE);
        uint64_t bytes = random_below(&seed, 24);
        bool add = random_below(&seed, 2) == 0;

        bytes = bytes > SPACE - start ? SPACE - start : bytes;
        if (add && memory_ranges_add(&ranges, start, bytes)) {
            memset(model + start, true, bytes);
        } else if (!add && memory_ranges_remove(&ranges, start, bytes)) {
            memset(model + start, false, bytes);
        }
        expect_equal(&ranges, model);
        if (step % 1000 == 999) {
            memset(&ranges, 0, sizeof ranges);
            memset(model, 0, sizeof model);
        }
    }
}

static void test_align(void **state)
{
    struct memory_ranges ranges = {.count = 0};

    (void)state;
    assert_true(memory_ranges_add(&ranges, 0x1001, 0x2fff)); /* 0x2000..0x4000 */
    assert_true(memory_ranges_add(&ranges, 0x5001, 0x1ffe)); /* 0x6000..0x6fff: no whole page */
    assert_true(memory_ranges_add(&ranges, 0x8000, 0x1fff)); /* 0x8000..0x9000 */
    assert_true(memory_ranges_add(&ranges, UINT64_MAX - 0x10, 0x10));
    memory_ranges_align(&ranges, 0x1000);
    assert_int_equal(ranges.count, 2);
    assert_int_equal(ranges.range[0].start, 0x2000);
    assert_int_equal(ranges.range[0].end, 0x4000);
    assert_int_equal(ranges.range[1].start, 0x8000);
    assert_int_equal(ranges.range[1].end, 0x9000);
    assert_int_equal(memory_ranges_bytes(&ranges), 0x3000);
}

static void test_end_of_address_space(void **state)
{
    struct memory_ranges ranges = {.count = 0};

    (void)state;
    assert_true(memory_ranges_add(&ranges, UINT64_MAX - 99, UINT64_MAX));
    assert_int_equal(memory_ranges_bytes(&ranges), 99);
    assert_true(memory_ranges_remove(&ranges, UINT64_MAX - 49, UINT64_MAX));
    assert_int_equal(memory_ranges_bytes(&ranges), 50);
    assert_true(memory_ranges_remove(&ranges, 0, UINT64_MAX));
    assert_int_equal(ranges.count, 0);
}

static void test_no_room(void **state)
{
    struct memory_ranges ranges = {.count = 0};

    (void)state;
    for (uint64_t i = 0; i < MEMORY_RANGES_MAX; i++) {
        assert_true(memory_ranges_add(&ranges, i * 100, 50));
    }
    assert_false(memory_ranges_add(&ranges, (uint64_t)MEMORY_RANGES_MAX * 100, 50));
    assert_int_equal(ranges.count, MEMORY_RANGES_MAX);
    /* The removed range is gone, and so is the part of the same range above it. */
    assert_false(memory_ranges_remove(&ranges, 110, 10));
    assert_int_equal(ranges.count, MEMORY_RANGES_MAX);
    assert_int_equal(ranges.range[1].start, 100);
    assert_int_equal(ranges.range[1].end, 110);
    assert_int_equal(ranges.range[2].start, 200);
    /* Joining two ranges frees an entry. */
    assert_true(memory_ranges_add(&ranges, 250, 50));
    assert_int_equal(ranges.count, MEMORY_RANGES_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_align),
        cmocka_unit_test(test_end_of_address_space),
        cmocka_unit_test(test_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
