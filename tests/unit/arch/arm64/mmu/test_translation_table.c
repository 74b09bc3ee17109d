/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares translation tables with a list of each page's use. The tables lie inside the memory that
 * they map, as in the kernel, so that the test notices a block that is split around its own table.
 */
#include "kernel_fixture.h"
#include "table_maintenance.h"
#include <arch/translation_table.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE     TRANSLATION_PAGE_BYTES
#define MEBIBYTE (UINT64_C(1) << 20)
#define GIBIBYTE (UINT64_C(1) << 30)

/* The first GiBs hold the tables and stay mapped; the last one is mapped and unmapped at random.
 * There are several, so that the table that maps the blocks of a GiB sometimes lies in one of these
 * blocks. */
#define TABLE_BYTES  (4 * GIBIBYTE)
#define ARENA_BYTES  (TABLE_BYTES + GIBIBYTE)
#define TABLE_PAGES  (TABLE_BYTES / PAGE)
#define PLAY_PAGES   (GIBIBYTE / PAGE)
#define STATIC_PAGES 9u

static struct {
    struct translation translation;
    uint8_t *memory;       /* ARENA_BYTES, aligned to 1 GiB */
    uint8_t *play;         /* the last GiB */
    uint64_t *static_page; /* mapped by pages from the start, as in the image */
    bool taken[TABLE_PAGES];
    uint8_t model[PLAY_PAGES];
    uint64_t broken; /* number of entries that were invalidated */
    uint64_t seed;
} arena;

/* table_maintenance.h: the behaviour of the hardware, and its prohibitions. */

void table_entry_make(uint64_t *entry, uint64_t descriptor)
{
    assert_int_equal(*entry & 1, 0);
    assert_int_equal(descriptor & 1, 1);
    *entry = descriptor;
}

void table_entry_break(uint64_t *entry, uint64_t address, uint64_t bytes)
{
    assert_int_equal(*entry & 1, 1);
    assert_int_equal(address % bytes, 0);
    *entry = 0;
    arena.broken++;
}

void table_entry_break_and_make(uint64_t *entry, uint64_t descriptor, uint64_t address,
                                uint64_t bytes)
{
    assert_int_equal(*entry & 1, 1);
    assert_int_equal(descriptor & 3, 3);
    assert_int_equal(address % bytes, 0);
    /* The entry is written again while the block is unmapped. */
    assert_true((uintptr_t)entry < address || (uintptr_t)entry >= address + bytes);
    *entry = descriptor;
    arena.broken++;
}

static void add_static_pages(void)
{
    for (unsigned i = 1; i < STATIC_PAGES; i++) {
        assert_true(
            translation_reserve_add(&arena.translation, arena.static_page + (size_t)i * 512));
    }
    assert_false(translation_reserve_add(&arena.translation, arena.static_page));
}

static int set_up(void **state)
{
    uint8_t *memory = mmap(NULL, ARENA_BYTES + GIBIBYTE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)state;
    if (memory == MAP_FAILED) {
        return -1;
    }
    memset(&arena, 0, sizeof arena);
    arena.memory = memory + (-(uintptr_t)memory & (GIBIBYTE - 1));
    arena.play = arena.memory + TABLE_BYTES;
    if (posix_memalign((void **)&arena.static_page, PAGE, STATIC_PAGES * PAGE) != 0) {
        return -1;
    }
    translation_init(&arena.translation, arena.static_page);
    add_static_pages();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(arena.static_page);
    return munmap(arena.memory, ARENA_BYTES);
}

static uint64_t at(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static void expect_use(const void *page, enum translation_use use, uint64_t bytes)
{
    uint64_t found = 0;

    assert_int_equal(translation_find(&arena.translation, at(page), &found), use);
    if (bytes != 0) {
        assert_int_equal(found, bytes);
    }
}

static void test_largest_blocks(void **state)
{
    struct translation *translation = &arena.translation;
    uint64_t start = at(arena.play) - 2 * MEBIBYTE - PAGE;

    (void)state;
    /* A page, 2 MiB, and then up to 1 GiB + 2 MiB + a page. */
    assert_int_equal(
        translation_map(translation, start, GIBIBYTE + 4 * MEBIBYTE + 2 * PAGE, TRANSLATION_DATA),
        RESULT_OK);
    expect_use(arena.play - 2 * MEBIBYTE - 2 * PAGE, TRANSLATION_UNMAPPED, PAGE);
    expect_use(arena.play - 2 * MEBIBYTE - PAGE, TRANSLATION_DATA, PAGE);
    expect_use(arena.play - 2 * MEBIBYTE, TRANSLATION_DATA, 2 * MEBIBYTE);
    expect_use(arena.play, TRANSLATION_DATA, GIBIBYTE);
    expect_use(arena.play + GIBIBYTE - 1, TRANSLATION_DATA, GIBIBYTE);
    expect_use(arena.play + GIBIBYTE, TRANSLATION_DATA, 2 * MEBIBYTE);
    expect_use(arena.play + GIBIBYTE + 2 * MEBIBYTE, TRANSLATION_DATA, PAGE);
    expect_use(arena.play + GIBIBYTE + 2 * MEBIBYTE + PAGE, TRANSLATION_UNMAPPED, PAGE);
    /* Mapping a part of a block again splits nothing. */
    assert_int_equal(translation_map(translation, at(arena.play), PAGE, TRANSLATION_DATA),
                     RESULT_OK);
    expect_use(arena.play, TRANSLATION_DATA, GIBIBYTE);
    assert_int_equal(arena.broken, 0);
}

/* The bits of each use (Arm ARM, "Attribute fields in stage 1 VMSAv8-64 Block and Page
 * descriptors"). */
static void test_descriptors(void **state)
{
    static const struct {
        enum translation_use use;
        uint64_t bits;
    } expected[] = {
        {TRANSLATION_CODE, 0x0040000000000783},      /* UXN AF SH=inner AP=read-only */
        {TRANSLATION_CONSTANTS, 0x0060000000000783}, /* and PXN */
        {TRANSLATION_DATA, 0x0060000000000703},
        {TRANSLATION_DEVICE, 0x0060000000000707},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        uint64_t page = at(arena.play) + i * PAGE;
        const uint64_t *table = arena.static_page;

        assert_int_equal(translation_map(&arena.translation, page, PAGE, expected[i].use),
                         RESULT_OK);
        for (unsigned level = 0; level < 3; level++) {
            uint64_t entry = table[(page >> (39 - 9 * level)) & 511];

            assert_int_equal(entry & 0xfff, 3);
            table = (const uint64_t *)(uintptr_t)(entry & ~UINT64_C(0xfff));
        }
        assert_int_equal(table[(page >> 12) & 511], page | expected[i].bits);
    }
    assert_int_equal(arena.translation.table_count, 4);
}

static void test_refusals(void **state)
{
    struct translation *translation = &arena.translation;
    uint64_t start = at(arena.play);

    (void)state;
    assert_int_equal(translation_map(translation, start + 1, PAGE, TRANSLATION_DATA),
                     RESULT_INVALID);
    assert_int_equal(translation_map(translation, start, PAGE + 1, TRANSLATION_DATA),
                     RESULT_INVALID);
    assert_int_equal(translation_map(translation, start, 0, TRANSLATION_DATA), RESULT_INVALID);
    assert_int_equal(translation_map(translation, start, PAGE, TRANSLATION_UNMAPPED),
                     RESULT_INVALID);
    assert_int_equal(
        translation_map(translation, TRANSLATION_ADDRESS_LIMIT - PAGE, 2 * PAGE, TRANSLATION_DATA),
        RESULT_INVALID);
    assert_int_equal(translation_map(translation, UINT64_MAX - PAGE + 1, PAGE, TRANSLATION_DATA),
                     RESULT_INVALID);
    assert_int_equal(translation_unmap(translation, start, PAGE / 2), RESULT_INVALID);
    assert_int_equal(translation->table_count, 1);

    assert_int_equal(translation_map(translation, start + PAGE, PAGE, TRANSLATION_DEVICE),
                     RESULT_OK);
    assert_int_equal(translation_map(translation, start, 4 * PAGE, TRANSLATION_DATA), RESULT_BUSY);
    expect_use(arena.play, TRANSLATION_UNMAPPED, PAGE);
    /* A range that is already mapped for the same use is accepted. */
    assert_int_equal(translation_map(translation, start, 4 * PAGE, TRANSLATION_DEVICE), RESULT_OK);
    expect_use(arena.play + 3 * PAGE, TRANSLATION_DEVICE, PAGE);
}

/* The last pages below 2^48, and the whole space by blocks of 1 GiB. */
static void test_end_of_addresses(void **state)
{
    struct translation *translation = &arena.translation;
    uint64_t last = TRANSLATION_ADDRESS_LIMIT - PAGE;
    uint64_t found;

    (void)state;
    assert_int_equal(translation_map(translation, last, PAGE, TRANSLATION_DEVICE), RESULT_OK);
    assert_int_equal(translation_find(translation, last, NULL), TRANSLATION_DEVICE);
    assert_int_equal(translation_find(translation, last - PAGE, NULL), TRANSLATION_UNMAPPED);
    assert_int_equal(translation_find(translation, TRANSLATION_ADDRESS_LIMIT, NULL),
                     TRANSLATION_UNMAPPED);
    assert_int_equal(translation_map(translation, 0, GIBIBYTE * 512 * 2, TRANSLATION_DATA),
                     RESULT_OK);
    assert_int_equal(translation_find(translation, GIBIBYTE * 1023, &found), TRANSLATION_DATA);
    assert_int_equal(found, GIBIBYTE);
}

static void test_reserve_runs_out(void **state)
{
    struct translation *translation = &arena.translation;

    (void)state;
    /* Each page in a new GiB needs a table of level 2 and a table of level 3. */
    for (uint64_t i = 0;; i++) {
        uint64_t address = (1000 + i) * GIBIBYTE;
        unsigned left = translation->reserve_count;
        enum result result = translation_map(translation, address, PAGE, TRANSLATION_DEVICE);

        if (result != RESULT_OK) {
            assert_int_equal(result, RESULT_NO_MEMORY);
            assert_true(left < 3);
            assert_int_equal(translation_find(translation, address, NULL), TRANSLATION_UNMAPPED);
            break;
        }
        assert_true(i < STATIC_PAGES);
    }
    assert_int_equal(translation->reserve_count, 0);
    assert_int_equal(translation->table_count, STATIC_PAGES);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(translation_find(translation, (1000 + i) * GIBIBYTE, NULL),
                         TRANSLATION_DEVICE);
    }
}

/* Refills the reserve of pages as mmu.c does, with random pages from the tables' area. */
static void fill_reserve(void)
{
    while (arena.translation.reserve_count < 3) {
        size_t index = random_below(&arena.seed, TABLE_PAGES);
        uint64_t *page = (uint64_t *)(uintptr_t)(at(arena.memory) + index * PAGE);

        if (arena.taken[index]) {
            continue;
        }
        if (translation_find(&arena.translation, at(page), NULL) == TRANSLATION_UNMAPPED) {
            continue; /* used by guard_step() */
        }
        if (translation_split(&arena.translation, at(page)) != RESULT_OK) {
            return;
        }
        expect_use(page, TRANSLATION_DATA, PAGE);
        memset(page, 0xa5, PAGE);
        arena.taken[index] = true;
        assert_true(translation_reserve_add(&arena.translation, page));
    }
}

static void expect_model(size_t first, size_t count)
{
    for (size_t page = first; page < first + count && page < PLAY_PAGES; page++) {
        expect_use(arena.play + page * PAGE, (enum translation_use)arena.model[page], 0);
    }
}

/* Sizes and addresses at and beside block borders. */
static void random_range(size_t *first, size_t *count)
{
    static const size_t steps[] = {1, 1, 3, 512, 512, 2048};
    size_t step = steps[random_below(&arena.seed, sizeof steps / sizeof steps[0])];

    *first = random_below(&arena.seed, PLAY_PAGES / step) * step;
    *count = (1 + random_below(&arena.seed, 4)) * step;
    if (random_below(&arena.seed, 4) == 0) {
        *first += random_below(&arena.seed, 3);
        *count += random_below(&arena.seed, 3);
    }
    if (random_below(&arena.seed, 500) == 0) {
        *first = 0;
        *count = PLAY_PAGES;
    }
    *first = *first >= PLAY_PAGES ? PLAY_PAGES - 1 : *first;
    *count = *count > PLAY_PAGES - *first ? PLAY_PAGES - *first : *count;
}

static bool model_allows(size_t first, size_t count, enum translation_use use)
{
    for (size_t page = first; page < first + count; page++) {
        if (arena.model[page] != TRANSLATION_UNMAPPED && arena.model[page] != use) {
            return false;
        }
    }
    return true;
}

static void random_step(void)
{
    enum translation_use use = (enum translation_use)random_below(&arena.seed, 5);
    enum result result;
    size_t first;
    size_t count;

    random_range(&first, &count);
    if (use == TRANSLATION_UNMAPPED || random_below(&arena.seed, 2) == 0) {
        use = TRANSLATION_UNMAPPED;
        result = translation_unmap(&arena.translation, at(arena.play) + first * PAGE, count * PAGE);
    } else {
        result =
            translation_map(&arena.translation, at(arena.play) + first * PAGE, count * PAGE, use);
        assert_int_equal(result == RESULT_BUSY, !model_allows(first, count, use));
    }
    if (result == RESULT_OK) {
        memset(arena.model + first, (int)use, count);
    } else if (result != RESULT_BUSY) {
        assert_int_equal(result, RESULT_NO_MEMORY);
    }
    expect_model(first > 2 ? first - 2 : 0, 6);
    expect_model(first + count > 3 ? first + count - 3 : 0, 6);
    expect_model(random_below(&arena.seed, PLAY_PAGES), 16);
}

/* Removes and restores a guard page among the tables, which splits blocks near the tables or around
 * them. */
static void guard_step(void)
{
    size_t index = random_below(&arena.seed, TABLE_PAGES);
    const uint8_t *page = arena.memory + index * PAGE;

    if (arena.taken[index]) {
        return;
    }
    if (translation_unmap(&arena.translation, at(page), PAGE) == RESULT_OK) {
        expect_use(page, TRANSLATION_UNMAPPED, PAGE);
        fill_reserve();
        assert_int_equal(translation_map(&arena.translation, at(page), PAGE, TRANSLATION_DATA),
                         RESULT_OK);
    }
}

static void test_against_model(void **state)
{
    (void)state;
    arena.seed = 2;
    assert_int_equal(
        translation_map(&arena.translation, at(arena.memory), TABLE_BYTES, TRANSLATION_DATA),
        RESULT_OK);
    for (unsigned step = 0; step < 20000; step++) {
        random_step();
        fill_reserve();
        guard_step();
        fill_reserve();
        if (step % 2000 == 1999) {
            expect_model(0, PLAY_PAGES);
        }
    }
    assert_true(arena.broken > 1000);
    /* The memory of the tables themselves has never changed its use. */
    for (size_t page = 0; page < TABLE_PAGES; page++) {
        expect_use(arena.memory + page * PAGE, TRANSLATION_DATA, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_largest_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end_of_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reserve_runs_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_against_model, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
