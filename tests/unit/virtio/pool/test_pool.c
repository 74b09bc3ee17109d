/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests pools (virtio/pool.h): pieces that do not overlap, and exhausted memory. */
#include "fake.h"
#include "virtio/pool.h"
#include <limits.h>
#include <string.h>

#define BYTES  (64u * 1024)
#define LINE   64u
#define PIECES 24u
#define ROUNDS 20000u

static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t memory[BYTES];
static struct virtio_pool pool;

static int set_up(void **state)
{
    (void)state;
    memset(memory, 0xa5, sizeof(memory));
    virtio_pool_init(&pool, memory, sizeof(memory));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_null(pool.pieces);
    assert_int_equal(virtio_pool_free_bytes(&pool), BYTES);
    assert_int_equal(fake_allocations, 0);
    return 0;
}

static void *allocate(size_t bytes, size_t alignment)
{
    virtio_address address = 0;
    void *piece = virtio_dma_allocate(&pool, bytes, alignment, &address);

    if (piece != NULL) {
        assert_int_equal(address, virtio_platform_dma_address(piece));
        assert_int_equal((uintptr_t)piece % alignment, 0);
    }
    return piece;
}

static void memory_is_cleared(void **state)
{
    uint8_t *piece = allocate(100, 1);

    (void)state;
    assert_non_null(piece);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(piece[i], 0);
    }
    virtio_dma_free(&pool, piece, 100);
}

static void pieces_share_no_cache_line(void **state)
{
    uint8_t *first = allocate(1, 1);
    uint8_t *second = allocate(LINE + 1, 2);
    uint8_t *third = allocate(4, 4);

    (void)state;
    assert_ptr_equal(second, first + LINE);
    assert_ptr_equal(third, second + 2u * LINE);
    assert_int_equal(virtio_pool_free_bytes(&pool), BYTES - 4u * LINE);
    virtio_dma_free(&pool, second, LINE + 1);
    virtio_dma_free(&pool, first, 1);
    virtio_dma_free(&pool, third, 4);
}

static void gap_is_used_again(void **state)
{
    uint8_t *first = allocate(LINE, 1);
    uint8_t *second = allocate(BYTES - LINE, 1);

    (void)state;
    assert_non_null(second);
    assert_null(allocate(1, 1));
    virtio_dma_free(&pool, first, LINE);
    assert_null(allocate(LINE + 1, 1));
    assert_ptr_equal(allocate(LINE, 4096), first);
    virtio_dma_free(&pool, second, BYTES - LINE);
    virtio_dma_free(&pool, first, LINE);
}

/* An aligned begin may lie behind the end of the gap, or of the pool. */
static void alignment_does_not_leave_a_gap(void **state)
{
    uint8_t *first = allocate(LINE, 1);
    uint8_t *hole = allocate(LINE, 1);
    uint8_t *third = allocate(BYTES - 3u * LINE, 1);

    (void)state;
    virtio_dma_free(&pool, hole, LINE);
    assert_null(allocate(LINE, 4096));
    assert_ptr_equal(allocate(LINE, LINE), hole);
    virtio_dma_free(&pool, hole, LINE);
    virtio_dma_free(&pool, third, BYTES - 3u * LINE);
    virtio_dma_free(&pool, first, LINE);
}

static void impossible_pieces_are_refused(void **state)
{
    (void)state;
    assert_null(allocate(0, 1));
    assert_null(allocate(BYTES + 1, 1));
    assert_null(allocate(SIZE_MAX, 1));
    assert_null(allocate(SIZE_MAX - LINE, LINE));
    assert_null(allocate(1, 2u * VIRTIO_POOL_ALIGNMENT));
}

static void exhausted_private_memory_is_reported(void **state)
{
    uint8_t *piece;

    (void)state;
    fake_allocations_left = 0;
    assert_null(allocate(1, 1));
    fake_allocations_left = UINT_MAX;
    piece = allocate(BYTES, 1);
    assert_ptr_equal(piece, memory);
    virtio_dma_free(&pool, piece, BYTES);
}

/* Memory in the middle of a piece, memory outside of the pool, and a piece that was freed before.
 */
static void memory_that_is_no_piece_is_reported(void **state)
{
    uint8_t *piece = allocate(2u * LINE, 1);
    uint8_t outside[LINE];
    unsigned lines = fake_log_lines;

    (void)state;
    virtio_dma_free(&pool, piece + LINE, LINE);
    assert_int_equal(fake_log_lines, lines + 1);
    virtio_dma_free(&pool, outside, LINE);
    assert_int_equal(fake_log_lines, lines + 2);
    assert_int_equal(virtio_pool_free_bytes(&pool), BYTES - 2u * LINE);
    virtio_dma_free(&pool, piece, 2u * LINE);
    assert_int_equal(fake_log_lines, lines + 2);
    virtio_dma_free(&pool, piece, 2u * LINE);
    assert_int_equal(fake_log_lines, lines + 3);
}

static void rest_of_a_cache_line_is_not_used(void **state)
{
    (void)state;
    virtio_pool_init(&pool, memory, LINE + 1);
    assert_null(allocate(LINE + 1, 1));
    assert_int_equal(virtio_pool_free_bytes(&pool), LINE);
    virtio_pool_init(&pool, memory, BYTES);
}

static void without_a_pool_the_platform_supplies_memory(void **state)
{
    virtio_address address;
    void *piece = virtio_dma_allocate(NULL, 100, 64, &address);

    (void)state;
    assert_non_null(piece);
    assert_int_equal(address, virtio_platform_dma_address(piece));
    assert_int_equal(fake_allocations, 1);
    virtio_dma_free(NULL, piece, 100);
}

static uint32_t next_random(void)
{
    static uint32_t seed = 41;

    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

/* Fills each piece with its number, and finds it there when the piece is freed. */
static void pieces_do_not_overlap(void **state)
{
    struct {
        uint8_t *memory;
        size_t bytes;
    } piece[PIECES] = {{0}};

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = next_random() % PIECES;

        if (piece[i].memory == NULL) {
            piece[i].bytes = 1u + next_random() % (BYTES / 8u);
            piece[i].memory = allocate(piece[i].bytes, (size_t)1 << next_random() % 13u);
            if (piece[i].memory != NULL) {
                assert_true(piece[i].memory >= memory &&
                            piece[i].memory + piece[i].bytes <= memory + BYTES);
                memset(piece[i].memory, (int)i + 1, piece[i].bytes);
            }
            continue;
        }
        for (size_t at = 0; at < piece[i].bytes; at++) {
            assert_int_equal(piece[i].memory[at], i + 1);
        }
        virtio_dma_free(&pool, piece[i].memory, piece[i].bytes);
        piece[i].memory = NULL;
    }
    for (unsigned i = 0; i < PIECES; i++) {
        if (piece[i].memory != NULL) {
            virtio_dma_free(&pool, piece[i].memory, piece[i].bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_is_cleared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_share_no_cache_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gap_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alignment_does_not_leave_a_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(impossible_pieces_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exhausted_private_memory_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_no_piece_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rest_of_a_cache_line_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_pool_the_platform_supplies_memory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pieces_do_not_overlap, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
