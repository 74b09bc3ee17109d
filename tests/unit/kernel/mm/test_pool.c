/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools. */
#include "kernel_fixture.h"
#include <string.h>

#define COUNT 5u

static _Alignas(16) uint8_t storage[COUNT * 24];
static struct pool pool;

static void test_all_blocks(void **state)
{
    uint8_t *block[COUNT];

    (void)state;
    assert_int_equal(pool_init(&pool, storage, 24, COUNT), RESULT_OK);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            block[i] = pool_allocate(&pool);
            assert_non_null(block[i]);
            assert_true(block[i] >= storage && block[i] + 24 <= storage + sizeof(storage));
            assert_int_equal((size_t)(block[i] - storage) % 24, 0);
            memset(block[i], (int)i, 24);
        }
        assert_null(pool_allocate(&pool));
        assert_int_equal(pool.free_count, 0);
        assert_int_equal(pool.lowest_free, 0);
        assert_int_equal(pool.failures, round + 1);
        for (unsigned i = 0; i < COUNT; i++) {
            for (unsigned j = 0; j < 24; j++) {
                assert_int_equal(block[i][j], i);
            }
            pool_free(&pool, block[i]);
        }
        assert_int_equal(pool.free_count, COUNT);
    }
}

static void test_low_water(void **state)
{
    (void)state;
    assert_int_equal(pool_init(&pool, storage, 24, COUNT), RESULT_OK);
    void *a = pool_allocate(&pool);
    void *b = pool_allocate(&pool);

    pool_free(&pool, a);
    pool_free(&pool, b);
    assert_int_equal(pool.lowest_free, COUNT - 2);
    assert_int_equal(pool.failures, 0);
}

static void test_invalid(void **state)
{
    (void)state;
    assert_int_equal(pool_init(&pool, NULL, 24, COUNT), RESULT_INVALID);
    assert_int_equal(pool_init(&pool, storage + 1, 24, COUNT), RESULT_INVALID);
    assert_int_equal(pool_init(&pool, storage, 0, COUNT), RESULT_INVALID);
    assert_int_equal(pool_init(&pool, storage, 12, COUNT), RESULT_INVALID);
    assert_int_equal(pool_init(&pool, storage, 24, 0), RESULT_INVALID);
    assert_int_equal(pool_init(&pool, storage, SIZE_MAX - 7, COUNT), RESULT_INVALID);
}

static unsigned misuse;

static void boot_misuse(void)
{
    if (pool_init(&pool, storage, 24, COUNT) != RESULT_OK) {
        return;
    }
    uint8_t *a = pool_allocate(&pool);
    uint8_t *b = pool_allocate(&pool);

    switch (misuse) {
    case 0:
        pool_free(&pool, a + 8);
        break;
    case 1:
        pool_free(&pool, (void *)((uintptr_t)storage - 24));
        break;
    case 2:
        pool_free(&pool, (void *)((uintptr_t)storage + sizeof(storage)));
        break;
    case 3:
        pool_free(&pool, NULL);
        break;
    case 4:
        pool_free(&pool, a);
        pool_free(&pool, a);
        break;
    default:
        pool_free(&pool, a);
        pool_free(&pool, b);
        pool_free(&pool, a);
        break;
    }
}

static void test_misuse_panics(void **state)
{
    (void)state;
    for (misuse = 0; misuse < 6; misuse++) {
        assert_int_equal(host_machine_run(boot_misuse), HOST_STATUS_PANIC);
        assert_non_null(strstr(host_panic_message(), "pool"));
    }
}

static void use_in_interrupt(void *argument)
{
    void *block = pool_allocate(&pool);

    (void)argument;
    CHECK(block != NULL);
    pool_free(&pool, block);
}

static void init_sweep(void)
{
    CHECK_EQUAL(pool_init(&pool, storage, 24, COUNT), RESULT_OK);
    sweep_interrupt(use_in_interrupt, NULL);
    void *a = pool_allocate(&pool);
    void *b = pool_allocate(&pool);

    CHECK(a != NULL && b != NULL && a != b);
    pool_free(&pool, a);
    pool_free(&pool, b);
    CHECK_EQUAL(pool.free_count, COUNT);
}

static void test_interrupts(void **state)
{
    (void)state;
    kernel_sweep(init_sweep, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_blocks), cmocka_unit_test(test_low_water),
        cmocka_unit_test(test_invalid),    cmocka_unit_test(test_misuse_panics),
        cmocka_unit_test(test_interrupts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
