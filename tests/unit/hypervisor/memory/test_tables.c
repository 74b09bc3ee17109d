/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests translation tables and stage 2: mappings, the number of pages used, and refusals. */
#include "memory/runs.h"
#include "memory/stage2.h"
#include "memory/tables.h"
#include "memory/withdraw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POOL_PAGES 64u
#define KIB        UINT64_C(1024)
#define MIB        (KIB * KIB)
#define GIB        (KIB * MIB)

static struct page_pool pool;
static uint64_t *root;

static int set_up(void **state)
{
    void *memory = aligned_alloc(PAGE_BYTES, POOL_PAGES * PAGE_BYTES);

    assert_non_null(memory);
    memset(memory, 0xa5, POOL_PAGES * PAGE_BYTES); /* pages must be zeroed nevertheless */
    *state = memory;
    pool.next = (uint64_t)(uintptr_t)memory;
    pool.end = pool.next + POOL_PAGES * PAGE_BYTES;
    root = (uint64_t *)(uintptr_t)page_pool_take(&pool, 1);
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static unsigned pages_used(void **state)
{
    return (unsigned)((pool.next - (uint64_t)(uintptr_t)*state) / PAGE_BYTES);
}

static void expect_attributes(uint64_t input, uint64_t output, uint64_t expected)
{
    uint64_t found = 0;
    uint64_t attributes = 0;

    assert_true(tables_find(root, input, &found, &attributes));
    assert_int_equal(found, output);
    assert_int_equal(attributes, expected);
}

static void expect(uint64_t input, uint64_t output)
{
    expect_attributes(input, output, STAGE2_MEMORY);
}

static void expect_device(uint64_t input, uint64_t output)
{
    expect_attributes(input, output, STAGE2_DEVICE);
}

static void expect_nothing(uint64_t input)
{
    uint64_t found;
    uint64_t attributes;

    assert_false(tables_find(root, input, &found, &attributes));
}

static bool map(uint64_t input, uint64_t output, uint64_t bytes)
{
    return tables_map(root, &pool, input, output, bytes, STAGE2_MEMORY);
}

static void test_largest_blocks_are_used(void **state)
{
    assert_true(map(GIB, 3 * GIB, GIB));
    assert_int_equal(pages_used(state), 1);
    assert_true(map(2 * GIB, GIB + 2 * MIB, 2 * MIB));
    assert_int_equal(pages_used(state), 2);
    assert_true(map(2 * GIB + 2 * MIB, GIB + 4 * MIB + 4 * KIB, 2 * MIB));
    assert_int_equal(pages_used(state), 3);
    expect(GIB + 0x12345678, 3 * GIB + 0x12345678);
    expect(2 * GIB + 0x123456, GIB + 2 * MIB + 0x123456);
    expect(2 * GIB + 2 * MIB + 0x1234, GIB + 4 * MIB + 0x2234);
}

static void test_border_inside_a_block(void **state)
{
    (void)state;
    assert_true(map(GIB + 2 * MIB - 4 * KIB, GIB + 2 * MIB - 4 * KIB, 2 * MIB + 8 * KIB));
    expect_nothing(GIB + 2 * MIB - 4 * KIB - 1);
    expect(GIB + 2 * MIB - 4 * KIB, GIB + 2 * MIB - 4 * KIB);
    expect(GIB + 4 * MIB + 4 * KIB - 1, GIB + 4 * MIB + 4 * KIB - 1);
    expect_nothing(GIB + 4 * MIB + 4 * KIB);
}

static void test_nothing_is_mapped_twice(void **state)
{
    (void)state;
    assert_true(map(GIB, GIB, 2 * MIB));
    assert_false(map(GIB, 2 * GIB, 4 * KIB));
    assert_false(map(GIB + MIB, 2 * GIB, 4 * KIB));
    assert_true(map(GIB + 2 * MIB, GIB, 4 * KIB));
    assert_false(map(GIB + 2 * MIB, GIB, 2 * MIB));
    assert_false(map(GIB + 2 * MIB, GIB, 4 * KIB));
    expect(GIB, GIB);
    expect(GIB + 2 * MIB, GIB);
}

static void test_invalid_ranges_are_refused(void **state)
{
    (void)state;
    assert_false(map(GIB + 1, GIB, 4 * KIB));
    assert_false(map(GIB, GIB + 1, 4 * KIB));
    assert_false(map(GIB, GIB, 4 * KIB + 1));
    assert_false(map(TABLES_INPUT_LIMIT, GIB, 4 * KIB));
    assert_false(map(TABLES_INPUT_LIMIT - 4 * KIB, GIB, 8 * KIB));
    assert_false(map(GIB, UINT64_C(1) << 48, 4 * KIB));
    assert_false(map(GIB, UINT64_MAX - 4 * KIB + 1, 4 * KIB));
    assert_false(map(GIB, GIB, UINT64_MAX - 4 * KIB + 1));
    expect_nothing(GIB);
    expect_nothing(UINT64_MAX);
    assert_true(map(TABLES_INPUT_LIMIT - 4 * KIB, GIB, 4 * KIB));
    expect(TABLES_INPUT_LIMIT - 1, GIB + 4 * KIB - 1);
}

static void test_empty_pool_is_reported(void **state)
{
    (void)state;
    pool.end = pool.next + PAGE_BYTES;
    assert_int_equal(page_pool_take(&pool, 2), 0);
    assert_int_equal(page_pool_take(&pool, UINT64_MAX), 0);
    assert_false(map(GIB, GIB, 4 * KIB));
}

/* Returns a description with one partition, whose first memory may have colours. */
static const struct description *described(const struct description_partition *partition,
                                           const struct description_colours *colours)
{
    static struct description system;

    memset(&system, 0, sizeof(system));
    system.partition_count = 1;
    system.partitions[0] = *partition;
    if (colours != NULL) {
        system.colours[0].memories[0] = *colours;
    }
    return &system;
}

static void test_partition_of_one_gib_takes_few_pages(void **state)
{
    const struct description_partition partition = {
        .memory_count = 1,
        .memories = {{.guest = GIB, .physical = 2 * GIB, .bytes = GIB}},
        .device_count = 1,
        .devices = {{0x9010000, 4 * KIB}},
        .pci_memory = 0x10000000,
        .pci_memory_bytes = 64 * MIB,
        .pci_io = 0x3eff0000,
        .pci_io_bytes = 4 * KIB,
        .pci_wide = 4 * GIB,
        .pci_wide_physical = 512 * GIB,
        .pci_wide_bytes = 16 * GIB,
    };

    root = (uint64_t *)(uintptr_t)stage2_build(described(&partition, NULL), 0, &pool);
    assert_non_null(root);
    expect_device(4 * GIB + 5, 512 * GIB + 5);
    expect_device(20 * GIB - 1, 528 * GIB - 1);
    expect_nothing(20 * GIB);
    assert_true((pages_used(state) - 1) * PAGE_BYTES <= 16 * KIB);
    expect(GIB + 5, 2 * GIB + 5);
    expect_nothing(2 * GIB);
    expect_nothing(0x9011000);
    expect_nothing(0x9000000);
}

/* Each page is in the run that the arithmetic of docs/decisions/0098 says, and what is between the
 * runs is not mapped. */
static void test_coloured_memory(void **state)
{
    const struct description_partition partition = {
        .memory_count = 1,
        .memories = {{.guest = GIB, .physical = 128 * GIB, .bytes = 3 * MIB + 4 * KIB}},
    };
    const struct description_colours colours = {
        .first = 2 * GIB + 16 * KIB, .run = 12 * KIB, .period = 64 * KIB};
    uint64_t page = 2 * GIB + 16 * KIB;

    root = (uint64_t *)(uintptr_t)stage2_build(described(&partition, &colours), 0, &pool);
    assert_non_null(root);
    for (uint64_t offset = 0; offset < partition.memories[0].bytes; offset += 4 * KIB) {
        expect(GIB + offset + 0x123, page + 0x123);
        page += 4 * KIB;
        if (page % (64 * KIB) == 28 * KIB) { /* the end of a run */
            page += 52 * KIB;
        }
    }
    expect_nothing(GIB - 1);
    expect_nothing(GIB + 3 * MIB + 4 * KIB);
    /* The root, which set_up() takes as well, a table of level 2 and two of level 3. */
    assert_int_equal(pages_used(state), 1 + 1 + 1 + 2);
}

/* A run that is as large as a block, in a way of 8 MiB, is mapped by blocks. */
static void test_large_runs_have_blocks(void **state)
{
    const struct runs runs = {2 * GIB + 4 * MIB, 8 * MIB, 4 * MIB, 8 * MIB};

    assert_true(runs_map(root, &pool, GIB, &runs, STAGE2_MEMORY));
    assert_int_equal(pages_used(state), 2);
    expect(GIB + 4 * MIB - 1, 2 * GIB + 8 * MIB - 1);
    expect(GIB + 4 * MIB, 2 * GIB + 12 * MIB);
    expect(GIB + 8 * MIB - 1, 2 * GIB + 16 * MIB - 1);
    expect_nothing(GIB + 8 * MIB);
}

static void test_empty_pool_of_runs(void **state)
{
    const struct runs runs = {2 * GIB + 4 * KIB, MIB, 8 * KIB, 16 * KIB};

    (void)state;
    pool.end = pool.next;
    assert_false(runs_map(root, &pool, 5 * GIB, &runs, STAGE2_MEMORY));
}

/* A pool with colours allocates pages of its runs only, and what is longer than the rest of a run
 * from the next one. */
static void test_pool_with_colours(void **state)
{
    uint64_t first = (uint64_t)(uintptr_t)*state + 2 * PAGE_BYTES;
    struct page_pool own = {
        .next = first,
        .end = first + 21 * PAGE_BYTES,
        .first = first,
        .run = 3 * PAGE_BYTES,
        .period = 8 * PAGE_BYTES,
    };

    assert_int_equal(page_pool_take(&own, 4), 0); /* longer than a run */
    assert_int_equal(page_pool_take(&own, 2), first);
    assert_int_equal(page_pool_take(&own, 2), first + 8 * PAGE_BYTES);
    assert_int_equal(page_pool_take(&own, 1), first + 10 * PAGE_BYTES);
    assert_int_equal(page_pool_take(&own, 3), first + 16 * PAGE_BYTES);
    assert_int_equal(page_pool_take(&own, 1), 0); /* beyond the end, although pages precede it */
}

static void test_partition_described_twice_has_no_tables(void **state)
{
    struct description_partition partition = {
        .memory_count = 2,
        .memories = {{.guest = GIB, .physical = 2 * GIB, .bytes = GIB},
                     {.guest = GIB + MIB, .physical = 3 * GIB, .bytes = MIB}},
    };

    (void)state;
    assert_int_equal(stage2_build(described(&partition, NULL), 0, &pool), 0);
}

/* Memory is taken away and given back, and nothing else changes. */
static void test_memory_is_withdrawn(void **state)
{
    static struct description_partition partition = {
        .memory_count = 2,
        .memories = {{.guest = GIB, .physical = 4 * GIB, .bytes = GIB + PAGE_BYTES},
                     {.guest = 5 * GIB, .physical = 16 * MIB, .bytes = 2 * MIB}},
        .device_count = 1,
        .devices = {{.address = 128 * MIB, .bytes = PAGE_BYTES}},
    };
    uint64_t before[PAGE_BYTES / sizeof(uint64_t)], *stage2;

    (void)state;
    stage2 = (uint64_t *)(uintptr_t)stage2_build(described(&partition, NULL), 0, &pool);
    assert_non_null(stage2);
    memcpy(before, stage2, sizeof(before));
    root = stage2;
    assert_false(withdraw_is_done(stage2, &partition));
    for (unsigned times = 0; times < 2; times++) { /* the second time changes nothing */
        withdraw_set(stage2, &partition, 0);
        assert_true(withdraw_is_done(stage2, &partition));
    }
    expect_nothing(GIB);
    expect_nothing(2 * GIB);
    expect_nothing(5 * GIB + MIB);
    for (unsigned i = 0; i < PAGE_BYTES / sizeof(uint64_t); i++) {
        bool is_memory = i == 1 || i == 2 || i == 5;

        assert_int_equal(stage2[i], is_memory ? before[i] & ~TABLES_VALID : before[i]);
    }
    for (unsigned times = 0; times < 2; times++) {
        withdraw_set(stage2, &partition, TABLES_VALID);
        assert_false(withdraw_is_done(stage2, &partition));
    }
    assert_memory_equal(stage2, before, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_largest_blocks_are_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_border_inside_a_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_mapped_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_ranges_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_pool_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partition_of_one_gib_takes_few_pages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_coloured_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pool_with_colours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_runs_have_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_pool_of_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_is_withdrawn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partition_described_twice_has_no_tables, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
