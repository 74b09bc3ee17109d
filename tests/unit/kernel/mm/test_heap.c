/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the heap: growth by pages, exhaustion, statistics, and reactions to misuse. */
#include "mm/heap.h"

#include "kernel/memory.h"
#include "kernel_fixture.h"
#include "mm/memory_boot.h"
#include <string.h>

#define BYTES ((size_t)256 << 10)

static _Alignas(4096) uint8_t memory[BYTES];

static struct memory_statistics statistics(void)
{
    struct memory_statistics now;

    memory_statistics(&now);
    return now;
}

static void set_up(void)
{
    memory_init(1234, 567);
    page_add_range((uintptr_t)memory, BYTES);
}

static void test_growth(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(statistics().ram_bytes, 1234);
    assert_int_equal(statistics().image_bytes, 567);
    assert_int_equal(statistics().heap_total_bytes, 0);
    uint8_t *first = heap_allocate(1);

    assert_non_null(first);
    assert_int_equal(statistics().heap_total_bytes, HEAP_STEP_BYTES);
    assert_int_equal(statistics().page_used_bytes, HEAP_STEP_BYTES);
    assert_int_equal(statistics().heap_used_bytes, 32); /* 16 and the header */
    uint8_t *large = heap_allocate(50000);

    assert_non_null(large);
    assert_null(heap_check());
    memset(large, 1, 50000);
    assert_true(statistics().heap_total_bytes >= 50000 + HEAP_STEP_BYTES);
    assert_true(statistics().heap_total_bytes <= 60000 + HEAP_STEP_BYTES);
    heap_free(large);
    heap_free(first);
    heap_free(NULL);
    assert_null(heap_check());
    assert_int_equal(statistics().heap_used_bytes, 0);
    assert_true(statistics().heap_peak_bytes >= 50000);
    assert_int_equal(statistics().page_used_bytes + statistics().page_free_bytes, BYTES);
}

static void test_exhaustion(void **state)
{
    uint8_t *block[300];
    unsigned count = 0;

    (void)state;
    set_up();
    assert_null(heap_allocate(BYTES));
    assert_null(heap_allocate(SIZE_MAX));
    assert_null(heap_allocate(SIZE_MAX - 15));
    assert_null(heap_allocate(0));
    assert_int_equal(statistics().heap_failures, 4);
    /* A request that can't succeed takes no memory. */
    assert_int_equal(statistics().heap_total_bytes, 0);
    while ((block[count] = heap_allocate(1000)) != NULL) {
        memset(block[count], (int)count, 1000);
        count++;
    }
    assert_true(count > BYTES / 1024 - 3);
    assert_int_equal(statistics().heap_failures, 5);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < 1000; j++) {
            assert_int_equal(block[i][j], (uint8_t)i);
        }
        heap_free(block[i]);
    }
    assert_null(heap_check());
    assert_non_null(heap_allocate(200000)); /* the heap grew in steps but has one region */
}

/* The last pages are used even if they are less than a step. */
static void test_last_pages(void **state)
{
    (void)state;
    memory_init(0, 0);
    page_add_range((uintptr_t)memory, 2 * PAGE_BYTES);
    assert_non_null(heap_allocate(100));
    assert_non_null(heap_allocate(3900));
}

static void test_alignment(void **state)
{
    (void)state;
    set_up();
    for (size_t alignment = 1; alignment <= PAGE_BYTES; alignment *= 2) {
        for (size_t bytes = 1; bytes < 300; bytes += 37) {
            uint8_t *block = heap_allocate_aligned(bytes, alignment);

            assert_non_null(block);
            assert_int_equal((uintptr_t)block % alignment, 0);
            assert_int_equal((uintptr_t)block % 16, 0);
            memset(block, 0xee, bytes);
            if (bytes % 2 == 0) {
                heap_free(block);
            }
        }
        assert_null(heap_check());
    }
}

static unsigned bad_case;

static void boot_misuse(void)
{
    set_up();
    uint8_t *block = heap_allocate(64);
    uint8_t *next = heap_allocate(64);

    switch (bad_case) {
    case 0:
        heap_free(block);
        heap_free(block);
        break;
    case 1:
        heap_free(block + 16);
        break;
    case 2:
        memset(block, 0, 80); /* overwrites the next header */
        heap_free(next);
        break;
    case 3:
        heap_free(memory + BYTES / 2); /* never allocated */
        break;
    case 4:
        (void)heap_allocate_aligned(10, 48);
        break;
    default:
        (void)heap_allocate_aligned(10, 2 * PAGE_BYTES);
        break;
    }
}

static void test_misuse_panics(void **state)
{
    (void)state;
    for (bad_case = 0; bad_case < 6; bad_case++) {
        assert_int_equal(host_machine_run(boot_misuse), HOST_STATUS_PANIC);
        assert_non_null(strstr(host_panic_message(), "heap"));
    }
}

static void allocate_in_handler(void *argument)
{
    (void)argument;
    (void)heap_allocate(16);
}

static void init_interrupt(void)
{
    host_interrupt(allocate_in_handler, NULL);
}

static void test_not_in_interrupts(void **state)
{
    (void)state;
    kernel_panics(init_interrupt, "in an interrupt");
}

static struct thread *hasty;

static void allocate_and_free(void *argument)
{
    (void)argument;
    heap_free(heap_allocate(5000));
}

static void start_hasty(void *argument)
{
    (void)argument;
    CHECK_EQUAL(thread_set_priority(hasty, INIT_PRIORITY + 5), RESULT_OK);
}

/* Another thread allocates wherever this one is interrupted. */
static void init_sweep(void)
{
    hasty = start("hasty", 1, allocate_and_free, NULL);
    sweep_interrupt(start_hasty, NULL);
    uint8_t *a = heap_allocate(40000);
    uint8_t *b = heap_allocate(100);

    heap_free(a);
    heap_free(b);
    CHECK(heap_check() == NULL);
    finish(hasty);
    CHECK(heap_check() == NULL);
}

static void test_threads_interrupted_anywhere(void **state)
{
    (void)state;
    kernel_sweep(init_sweep, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_exhaustion),
        cmocka_unit_test(test_last_pages),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_misuse_panics),
        cmocka_unit_test(test_not_in_interrupts),
        cmocka_unit_test(test_threads_interrupted_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
