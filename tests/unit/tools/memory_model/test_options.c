/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of the plugin: each one, and wrong ones. */
#include "model_test.h"
#include "options.h"
#include <stdlib.h>

static const char *const whole[] = {
    "results=/tmp/a",
    "owners=b",
    "memory=c",
    "base=0x40000000",
    "counted=7",
    "skipped=8",
    "seed=9",
    "stream=10:11",
    "processors=2",
    "instruction=32768:4:64:lru",
    "data=16384:2:64:plru",
    "shared=0x100000:16:64:random",
    "tlb=512:4",
    "stage2_tlb=64:8",
    "victim=d",
};
#define COUNT (sizeof(whole) / sizeof(whole[0]))

static void discard(struct options *options)
{
    free((void *)(uintptr_t)options->results);
    free((void *)(uintptr_t)options->owners);
    free((void *)(uintptr_t)options->memory);
    free((void *)(uintptr_t)options->victim);
}

/* Parses all arguments but one; COUNT: all. */
static const char *parse_without(struct options *options, size_t left_out)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (i != left_out) {
            assert_null(options_parse(options, whole[i]));
        }
    }
    return options_check(options);
}

static void test_all(void **state)
{
    struct options options = {0};
    const struct hierarchy_geometry *caches = &options.geometry.caches;

    (void)state;
    assert_null(parse_without(&options, COUNT));
    assert_string_equal(options.results, "/tmp/a");
    assert_string_equal(options.owners, "b");
    assert_string_equal(options.memory, "c");
    assert_string_equal(options.victim, "d");
    assert_int_equal(options.base, 0x40000000);
    assert_int_equal(options.counted, 7);
    assert_int_equal(options.skipped, 8);
    assert_int_equal(options.seed, 9);
    assert_int_equal(options.stream.first, 10);
    assert_int_equal(options.stream.count, 11);
    assert_int_equal(caches->processors, 2);
    assert_int_equal(caches->instruction.bytes, 32768);
    assert_int_equal(caches->instruction.replacement, CACHE_LRU);
    assert_int_equal(caches->data.ways, 2);
    assert_int_equal(caches->data.replacement, CACHE_PLRU);
    assert_int_equal(caches->shared.bytes, 0x100000);
    assert_int_equal(caches->shared.line_bytes, 64);
    assert_int_equal(caches->shared.replacement, CACHE_RANDOM);
    assert_int_equal(options.geometry.translation.whole.entries, 512);
    assert_int_equal(options.geometry.translation.stage2.ways, 8);
    discard(&options);
}

static void test_missing(void **state)
{
    static const size_t optional[] = {5, 6, 7, COUNT - 1};

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        struct options options = {0};
        const char *error = parse_without(&options, i);

        if ((i >= optional[0] && i <= optional[2]) || i == optional[3]) {
            assert_null(error);
        } else {
            assert_non_null(error);
        }
        discard(&options);
    }
}

static void test_wrong(void **state)
{
    static const char *const wrong[] = {
        "",
        "results",
        "unknown=1",
        "base=",
        "base=x",
        "base=1x",
        "base=-1",
        "base=1:2",
        "stream=1",
        "stream=1:2:3",
        "processors=0x100000001",
        "tlb=512",
        "tlb=512:4:1",
        "tlb=0x100000000:4",
        "shared=1024:16:64",
        "shared=1024:16:lru",
        "shared=1024:16:64:fifo",
        "shared=1024:16:64:lru:",
        "shared=:16:64:lru",
        "shared=0x100000000:16:64:lru",
    };
    struct options options = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(options_parse(&options, wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
