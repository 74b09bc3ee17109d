/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the page allocator with a map of the owner of each page. */
#include "kernel/memory.h"

#include "kernel_fixture.h"
#include "mm/memory_boot.h"
#include "mm/pages.h"
#include <string.h>

#define PAGES 512u

/* Alignment of the pages. Loaders promise less; the array has room for it. */
#define MEMORY_ALIGNMENT (64 * PAGE_BYTES)

static uint8_t room[PAGES * 4096 + 64 * 4096];

static uintptr_t page_address(size_t page)
{
    uintptr_t start = ((uintptr_t)room + MEMORY_ALIGNMENT - 1) & ~(MEMORY_ALIGNMENT - 1);

    return start + page * PAGE_BYTES;
}

static size_t free_bytes(void)
{
    size_t used;
    size_t free;

    pages_count(&used, &free);
    return free;
}

static void test_ranges_are_cut(void **state)
{
    size_t used;
    size_t free;

    (void)state;
    memory_init(0, 0);
    assert_null(page_allocate(1, PAGE_BYTES));
    page_add_range(page_address(0) + 1, 3 * PAGE_BYTES); /* pages 1 and 2 */
    page_add_range(page_address(10) + 5, PAGE_BYTES);    /* no whole page */
    page_add_range(page_address(20), 0);
    page_add_range(page_address(2), PAGE_BYTES); /* given twice: ignored */
    page_add_range(UINTPTR_MAX - 5, 5000); /* no whole page below the end of the address space */
    page_add_range(0, 100);
    page_add_range(0, 1);
    page_add_range(0, PAGE_BYTES); /* page 0 alone is never used */
    pages_count(&used, &free);
    assert_int_equal(used, 0);
    assert_int_equal(free, 2 * PAGE_BYTES);
    assert_ptr_equal(page_allocate(1, PAGE_BYTES), page_address(1));
    assert_ptr_equal(page_allocate(1, PAGE_BYTES), page_address(2));
    assert_null(page_allocate(1, PAGE_BYTES));
    pages_count(&used, &free);
    assert_int_equal(used, 2 * PAGE_BYTES);
    assert_int_equal(free, 0);
}

static void test_more_ranges_than_entries(void **state)
{
    (void)state;
    memory_init(0, 0);
    for (unsigned i = 0; i < 2 * PAGE_RANGES_MAX; i++) {
        page_add_range(page_address((size_t)2 * i), PAGE_BYTES);
    }
    assert_int_equal(free_bytes(), PAGE_RANGES_MAX * PAGE_BYTES);
    memory_init(0, 0);
    for (unsigned i = 0; i < PAGES; i++) { /* neighbouring ranges are merged */
        page_add_range(page_address(PAGES - 1 - i), PAGE_BYTES);
    }
    assert_non_null(page_allocate(PAGES, PAGE_BYTES));
}

static void test_alignment(void **state)
{
    (void)state;
    memory_init(0, 0);
    page_add_range(page_address(1), 200 * PAGE_BYTES);
    assert_ptr_equal(page_allocate(2, 16 * PAGE_BYTES), page_address(16));
    assert_ptr_equal(page_allocate(15, PAGE_BYTES), page_address(1)); /* uses the gap in front */
    assert_ptr_equal(page_allocate(1, 64 * PAGE_BYTES), page_address(64));
    assert_ptr_equal(page_allocate(1, 64 * PAGE_BYTES), page_address(128));
    assert_ptr_equal(page_allocate(1, 64 * PAGE_BYTES), page_address(192));
    assert_null(page_allocate(1, 64 * PAGE_BYTES));
    assert_null(page_allocate(64, 64 * PAGE_BYTES));
    assert_ptr_equal(page_allocate(46, PAGE_BYTES), page_address(18));
}

struct run {
    size_t first;
    size_t count;
};

static uint8_t owner[PAGES]; /* 0: free, else run index + 1 */
static struct run runs[64];

static void random_allocate(uint64_t *random, unsigned index)
{
    size_t count = 1 + random_below(random, random_below(random, 8) == 0 ? 60 : 6);
    size_t align = (size_t)1 << random_below(random, 6);
    uint8_t *pages = page_allocate(count, align * PAGE_BYTES);
    size_t first = 0;

    /* First fit: the lowest place in the map. */
    for (; first + count <= PAGES; first += align) {
        size_t i = 0;

        while (i < count && owner[first + i] == 0) {
            i++;
        }
        if (i == count) {
            break;
        }
    }
    if (first + count > PAGES) {
        assert_null(pages);
        return;
    }
    assert_ptr_equal(pages, page_address(first));
    memset(&owner[first], (int)index + 1, count);
    memset(pages, (int)index + 1, count * PAGE_BYTES);
    runs[index] = (struct run){first, count};
}

static void random_free(unsigned index)
{
    struct run *run = &runs[index];
    uint8_t *pages = (uint8_t *)page_address(run->first);

    for (size_t i = 0; i < run->count * PAGE_BYTES; i += 64) {
        assert_int_equal(pages[i], index + 1);
    }
    page_free(pages, run->count);
    memset(&owner[run->first], 0, run->count);
    run->count = 0;
}

static void test_against_model(void **state)
{
    uint64_t random = 17;

    (void)state;
    memory_init(0, 0);
    page_add_range(page_address(0), PAGES * PAGE_BYTES);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned index = (unsigned)random_below(&random, 64);

        if (runs[index].count == 0) {
            random_allocate(&random, index);
        } else {
            random_free(index);
        }
        size_t free = 0;

        for (size_t i = 0; i < PAGES; i++) {
            free += owner[i] == 0 ? PAGE_BYTES : 0;
        }
        assert_int_equal(free_bytes(), free);
    }
    for (unsigned index = 0; index < 64; index++) {
        if (runs[index].count != 0) {
            random_free(index);
        }
    }
    /* All ranges are merged again. */
    assert_ptr_equal(page_allocate(PAGES, PAGE_BYTES), page_address(0));
}

static uintptr_t bad_address;
static size_t bad_count;

static void boot_bad_free(void)
{
    memory_init(0, 0);
    page_add_range(page_address(0), 10 * PAGE_BYTES);
    page_add_range(page_address(20), 10 * PAGE_BYTES);
    (void)page_allocate(4, PAGE_BYTES); /* 0 to 3 */
    page_free((void *)bad_address, bad_count);
}

static void expect_bad_free(uintptr_t address, size_t count)
{
    bad_address = address;
    bad_count = count;
    assert_int_equal(host_machine_run(boot_bad_free), HOST_STATUS_PANIC);
    assert_non_null(strstr(host_panic_message(), "page_free"));
}

static void test_bad_frees_panic(void **state)
{
    (void)state;
    expect_bad_free(page_address(4), 1);     /* free already */
    expect_bad_free(page_address(6), 1);     /* inside a free range */
    expect_bad_free(page_address(3), 2);     /* the second page is free */
    expect_bad_free(page_address(9), 2);     /* beyond the range */
    expect_bad_free(page_address(15), 1);    /* between ranges */
    expect_bad_free(page_address(1) + 8, 1); /* not a page */
    expect_bad_free(page_address(1), 0);
    expect_bad_free(page_address(1), SIZE_MAX / 2);
    expect_bad_free(0, 1);
    bad_address = page_address(1);
    bad_count = 2;
    assert_int_equal(host_machine_run(boot_bad_free), 0);
}

static void boot_bad_allocation(void)
{
    (void)page_allocate(bad_count, bad_address);
}

static void test_bad_allocations_panic(void **state)
{
    static const size_t bad[][2] = {{0, 4096}, {1, 0}, {1, 2048}, {1, 12288}};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bad_count = bad[i][0];
        bad_address = bad[i][1];
        assert_int_equal(host_machine_run(boot_bad_allocation), HOST_STATUS_PANIC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_are_cut),  cmocka_unit_test(test_more_ranges_than_entries),
        cmocka_unit_test(test_alignment),       cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_bad_frees_panic), cmocka_unit_test(test_bad_allocations_panic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
