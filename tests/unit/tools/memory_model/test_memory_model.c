/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole model: whom the counts of translations belong to, and the reads of walks. */
#include "memory_model.h"
#include "model_test.h"
#include <string.h>

#define TABLE UINT64_C(0x40000000) /* of stage 1, in memory of owner TABLES */
#define PLACE UINT64_C(0x80000000) /* memory of owner A: 1 GiB */

enum { TABLES = 1, A };

static struct memory_model model;
static uint64_t descriptors[512];

static const struct translation_registers registers = {
    .sctlr_el1 = 1, .tcr_el1 = 64 - 39, .ttbr0_el1 = TABLE, .exception_level = 1};

static bool read_descriptor(void *context, uint64_t address, uint64_t *descriptor)
{
    (void)context;
    if (address - TABLE >= sizeof(descriptors)) {
        return false;
    }
    *descriptor = descriptors[(address - TABLE) / sizeof(uint64_t)];
    return true;
}

static int set_up(void **state)
{
    static const struct cache_geometry cache = {.bytes = 4096, .ways = 4, .line_bytes = 64};
    static const struct tlb_geometry tlb = {.entries = 16, .ways = 4};
    const struct memory_model_geometry geometry = {
        .caches = {.processors = 2, .instruction = cache, .data = cache, .shared = cache},
        .translation = {.whole = tlb, .stage2 = tlb},
    };
    const struct table_memory memory = {.read = read_descriptor};

    (void)state;
    memset(&model, 0, sizeof(model));
    model.owners.count = 3;
    model.owners.range_count = 2;
    model.owners.ranges[0] = (struct owner_range){.start = TABLE, .bytes = 4096, .owner = TABLES};
    model.owners.ranges[1] = (struct owner_range){.start = PLACE, .bytes = 1 << 30, .owner = A};
    descriptors[1] = PLACE | 1; /* a block of 1 GiB at virtual address 1 GiB */
    assert_true(memory_model_create(&model, &geometry, &memory, 1));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    memory_model_destroy(&model);
    return 0;
}

static bool translate(uint32_t processor, uint64_t address, uint64_t *physical)
{
    const struct memory_access access = {
        .processor = processor, .kind = ACCESS_READ, .virtual_address = address, .bytes = 8};

    return memory_model_translate(&model, &registers, &access, physical);
}

static void test_translation(void **state)
{
    uint64_t physical;

    (void)state;
    for (uint32_t processor = 0; processor < 2; processor++) { /* each has a TLB of its own */
        assert_true(translate(processor, UINT64_C(0x40000010), &physical));
        assert_int_equal(physical, PLACE + 0x10);
        assert_true(translate(processor, UINT64_C(0x7fffffff), &physical));
    }
    assert_int_equal(model.translations[A].accesses, 4);
    assert_int_equal(model.translations[A].misses, 2);
    assert_int_equal(model.translations[A].stage1_reads, 2);
    assert_int_equal(model.translations[A].stage2_reads, 0);
    assert_int_equal(model.hierarchy.counts[TABLES].accesses[ACCESS_WALK], 2);
    assert_int_equal(model.hierarchy.counts[TABLES].shared_misses, 1);
    assert_int_equal(model.hierarchy.counts[A].shared_misses, 0); /* no access was made */
    memory_model_clear_translations(&model, 0);
    assert_true(translate(1, UINT64_C(0x40000010), &physical));
    assert_int_equal(model.translations[A].misses, 2);
    assert_true(translate(0, UINT64_C(0x40000010), &physical));
    assert_int_equal(model.translations[A].misses, 3);
}

static void test_missing_translation(void **state)
{
    uint64_t physical;

    (void)state;
    assert_false(translate(0, 0, &physical));
    assert_int_equal(model.failed, 1);
    assert_int_equal(model.translations[OWNER_OTHER].accesses, 0);
}

static void test_access_and_comparison(void **state)
{
    const struct memory_access access = {.processor = 1, .kind = ACCESS_WRITE, .bytes = 8};

    (void)state;
    memory_model_access(&model, &access, PLACE);
    assert_int_equal(model.hierarchy.counts[A].accesses[ACCESS_WRITE], 1);
    memory_model_compare(&model, PLACE, PLACE);
    assert_int_equal(model.different, 0);
    memory_model_compare(&model, PLACE, PLACE + 8);
    assert_int_equal(model.different, 1);
    memory_model_reset_counts(&model);
    assert_int_equal(model.different, 0);
    assert_int_equal(model.hierarchy.counts[A].accesses[ACCESS_WRITE], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_translation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_translation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_access_and_comparison, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
