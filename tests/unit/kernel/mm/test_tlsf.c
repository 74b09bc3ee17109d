/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the allocator with a model of its allocated blocks. */
#include "mm/tlsf.h"

#include "kernel_fixture.h"
#include <string.h>

#define BYTES  ((size_t)1 << 20)
#define BLOCKS 400u

static _Alignas(4096) uint8_t memory[BYTES];

static struct block {
    uint8_t *start;
    size_t bytes;
    uint8_t fill;
} blocks[BLOCKS];

static void check(const struct tlsf *tlsf)
{
    const char *wrong = tlsf_check(tlsf);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}

static size_t random_bytes(uint64_t *random)
{
    switch (random_below(random, 4)) {
    case 0:
        return 1 + random_below(random, 40);
    case 1:
        return 1 + random_below(random, 600);
    case 2:
        return 1 + random_below(random, 5000);
    default:
        return 1 + random_below(random, 40000);
    }
}

/* Checks that the block's content is unchanged, and overwrites it when the block is freed. */
static void check_content(const struct block *block)
{
    for (size_t i = 0; i < block->bytes; i++) {
        if (block->start[i] != block->fill) {
            fail_msg("byte %zu of %zu was overwritten", i, block->bytes);
        }
    }
}

static void allocate_block(struct tlsf *tlsf, struct block *block, uint64_t *random)
{
    size_t alignment = (size_t)16 << (random_below(random, 3) == 0 ? random_below(random, 9) : 0);

    block->bytes = random_bytes(random);
    block->fill = (uint8_t)random_next(random);
    block->start = tlsf_allocate(tlsf, block->bytes, alignment);
    if (block->start == NULL) {
        return;
    }
    assert_int_equal((uintptr_t)block->start % alignment, 0);
    assert_true(tlsf_block_bytes(block->start) >= block->bytes);
    assert_true(tlsf_block_bytes(block->start) < block->bytes + 48);
    assert_true(block->start >= memory && block->start + block->bytes <= memory + BYTES);
    memset(block->start, block->fill, block->bytes);
}

static void free_block(struct tlsf *tlsf, struct block *block)
{
    check_content(block);
    assert_true(tlsf_free(tlsf, block->start));
    assert_false(tlsf_free(tlsf, block->start)); /* a second free is detected */
    block->start = NULL;
}

static void test_against_model(void **state)
{
    struct tlsf tlsf;
    uint64_t random = 23;
    unsigned refused = 0;

    (void)state;
    tlsf_init(&tlsf);
    assert_true(tlsf_add_region(&tlsf, memory, BYTES / 2));
    assert_true(tlsf_add_region(&tlsf, memory + BYTES / 2 + 4096, BYTES / 2 - 4096));
    check(&tlsf);
    for (unsigned step = 0; step < 100000; step++) {
        struct block *block = &blocks[random_below(&random, BLOCKS)];

        if (block->start != NULL) {
            free_block(&tlsf, block);
        } else {
            allocate_block(&tlsf, block, &random);
            refused += block->start == NULL ? 1 : 0;
        }
        if (step % 16 == 0) {
            check(&tlsf);
        }
    }
    assert_true(refused > 0); /* the memory was exhausted at times */
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (blocks[i].start != NULL) {
            free_block(&tlsf, &blocks[i]);
        }
    }
    check(&tlsf);
    assert_int_equal(tlsf.used_bytes, 0);
    assert_non_null(tlsf_allocate(&tlsf, 440000, 16)); /* all free blocks are merged again */
}

static void test_exhaustion_and_reuse(void **state)
{
    struct tlsf tlsf;
    void *block[64];
    unsigned count = 0;

    (void)state;
    tlsf_init(&tlsf);
    assert_null(tlsf_allocate(&tlsf, 1, 16));
    assert_true(tlsf_add_region(&tlsf, memory, 4096));
    for (unsigned round = 0; round < 3; round++) {
        count = 0;
        while ((block[count] = tlsf_allocate(&tlsf, 112, 16)) != NULL) {
            count++;
        }
        assert_int_equal(count, (4096 - 16 - 16) / 128);
        assert_null(tlsf_allocate(&tlsf, SIZE_MAX, 16));
        assert_null(tlsf_allocate(&tlsf, TLSF_BYTES_MAXIMUM, 16));
        assert_null(tlsf_allocate(&tlsf, TLSF_BYTES_MAXIMUM - 8, 4096));
        for (unsigned i = 0; i < count; i += 2) {
            assert_true(tlsf_free(&tlsf, block[i]));
        }
        check(&tlsf);
        for (unsigned i = 1; i < count; i += 2) {
            assert_true(tlsf_free(&tlsf, block[i]));
        }
        check(&tlsf);
    }
    assert_int_equal(tlsf.peak_bytes, count * 128);
}

static void test_regions(void **state)
{
    struct tlsf tlsf;

    (void)state;
    tlsf_init(&tlsf);
    assert_false(tlsf_add_region(&tlsf, memory + 8, 4096));
    assert_false(tlsf_add_region(&tlsf, memory, 4096 + 8));
    assert_false(tlsf_add_region(&tlsf, memory, TLSF_REGION_MINIMUM - 16));
    assert_true(tlsf_add_region(&tlsf, memory, 4096));
    void *last = tlsf_allocate(&tlsf, 3000, 16);

    assert_non_null(last);
    assert_null(tlsf_allocate(&tlsf, 6000, 16));
    /* Extends the region and merges with its free end. */
    assert_true(tlsf_add_region(&tlsf, memory + 4096, 4096));
    check(&tlsf);
    assert_non_null(tlsf_allocate(&tlsf, 4900, 16));
    assert_true(tlsf_free(&tlsf, last));
    check(&tlsf);
    assert_int_equal(tlsf.total_bytes, 8192);
}

/* A region of the computed size always satisfies the request. */
static void test_region_bytes_suffice(void **state)
{
    uint64_t random = 29;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct tlsf tlsf;
        size_t bytes = random_bytes(&random);
        size_t alignment = (size_t)16 << random_below(&random, 9);
        size_t region = (tlsf_region_bytes(bytes, alignment) + 15) & ~(size_t)15;

        tlsf_init(&tlsf);
        assert_true(tlsf_add_region(&tlsf, memory + 16 * random_below(&random, 1000), region));
        assert_non_null(tlsf_allocate(&tlsf, bytes, alignment));
        check(&tlsf);
    }
    assert_int_equal(tlsf_region_bytes(SIZE_MAX, 16), 0);
    assert_int_equal(tlsf_region_bytes(16, SIZE_MAX / 2), 0);
}

static void test_damage_is_noticed(void **state)
{
    struct tlsf tlsf;

    (void)state;
    tlsf_init(&tlsf);
    assert_true(tlsf_add_region(&tlsf, memory, BYTES));
    uint8_t *a = tlsf_allocate(&tlsf, 100, 16);
    uint8_t *b = tlsf_allocate(&tlsf, 100, 16);
    uint8_t *c = tlsf_allocate(&tlsf, 100, 16);

    assert_false(tlsf_free(&tlsf, a + 16)); /* inside a block */
    assert_false(tlsf_free(&tlsf, a + 1));
    memset(a, 0x41, 100 + 12 + 1); /* one byte too far: overwrites b's header */
    assert_false(tlsf_free(&tlsf, b));
    assert_false(tlsf_free(&tlsf, a));
    assert_false(tlsf_free(&tlsf, c));
    assert_non_null(tlsf_check(&tlsf));

    tlsf_init(&tlsf);
    assert_true(tlsf_add_region(&tlsf, memory, BYTES));
    a = tlsf_allocate(&tlsf, 100, 16);
    memset(a, 0xff, 200); /* far too far: overwrites the free block behind b */
    assert_null(tlsf_allocate(&tlsf, 100, 16));
    assert_true(tlsf.damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),     cmocka_unit_test(test_exhaustion_and_reuse),
        cmocka_unit_test(test_regions),           cmocka_unit_test(test_region_bytes_suffice),
        cmocka_unit_test(test_damage_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
