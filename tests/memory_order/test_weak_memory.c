/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the explorer with small programs whose outcomes under C11's model are known ("litmus
 * tests"): outcomes that it must find, and outcomes that it must not find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weak_memory.h"

enum fence { NONE, RELEASE, ACQUIRE, FULL };

static uint32_t x;
static uint32_t y;
static uint64_t wide;
static uint32_t data;
static enum fence fence[MODEL_THREADS];
static unsigned ended;
static uint64_t read[2];

static void prepare(void)
{
    x = y = data = 0;
    wide = 0;
    ended = 0;
    model_share(&x, 4);
    model_share(&y, 4);
    model_share(&wide, 8);
}

static void fence_of(unsigned thread)
{
    switch (fence[thread]) {
    case RELEASE:
        model_release();
        break;
    case ACQUIRE:
        model_acquire();
        break;
    case FULL:
        model_full();
        break;
    default:
        break;
    }
}

static const char *explore(void (*first)(void), void (*second)(void), enum fence of_first,
                           enum fence of_second)
{
    struct model_program program = {"litmus test", prepare, {first, second}};

    fence[0] = of_first;
    fence[1] = of_second;
    return model_explore(&program, 100000).error;
}

static void write_x_then_y(void)
{
    model_store(&x, 4, 1);
    fence_of(0);
    model_store(&y, 4, 1);
}

static void read_y_then_x(void)
{
    uint64_t first = model_load(&y, 4);

    fence_of(1);
    MODEL_CHECK(!(first == 1 && model_load(&x, 4) == 0));
}

/* "MP": the reader sees the flag without the data that the flag announces. */
static void message_passing(void **state)
{
    (void)state;
    assert_null(explore(write_x_then_y, read_y_then_x, RELEASE, ACQUIRE));
    assert_null(explore(write_x_then_y, read_y_then_x, FULL, FULL));
    assert_non_null(explore(write_x_then_y, read_y_then_x, NONE, ACQUIRE));
    assert_non_null(explore(write_x_then_y, read_y_then_x, RELEASE, NONE));
    assert_non_null(explore(write_x_then_y, read_y_then_x, ACQUIRE, ACQUIRE));
    assert_non_null(explore(write_x_then_y, read_y_then_x, RELEASE, RELEASE));
}

static void pass_x_by_y(void)
{
    model_store(&x, 4, 1);
    model_store_release(&y, 4, 1);
}

static void take_x_by_y(void)
{
    uint64_t first = model_load_acquire(&y, 4);

    MODEL_CHECK(!(first == 1 && model_load(&x, 4) == 0));
}

/* An acquire load and a release store pass a message, also with fences on the other side. */
static void message_passing_without_fences(void **state)
{
    (void)state;
    assert_null(explore(pass_x_by_y, take_x_by_y, NONE, NONE));
    assert_null(explore(pass_x_by_y, read_y_then_x, NONE, ACQUIRE));
    assert_null(explore(write_x_then_y, take_x_by_y, RELEASE, NONE));
    assert_non_null(explore(pass_x_by_y, read_y_then_x, NONE, NONE));
    assert_non_null(explore(write_x_then_y, take_x_by_y, NONE, NONE));
}

static void pass_x_and_store_y_again(void)
{
    model_store(&x, 4, 1);
    model_store_release(&y, 4, 1);
    model_store(&y, 4, 2);
}

static void take_x_by_second_y(void)
{
    uint64_t first = model_load_acquire(&y, 4);

    MODEL_CHECK(!(first == 2 && model_load(&x, 4) == 0));
}

static void load_another_word_first(void)
{
    uint64_t first = model_load(&y, 4);

    (void)model_load_acquire(&wide, 8);
    MODEL_CHECK(!(first == 1 && model_load(&x, 4) == 0));
}

/* The orders belong to one access each, unlike those of fences. */
static void orders_of_single_accesses(void **state)
{
    (void)state;
    assert_non_null(explore(pass_x_and_store_y_again, take_x_by_second_y, NONE, NONE));
    assert_non_null(explore(pass_x_by_y, load_another_word_first, NONE, NONE));
}

static void check_store_buffering(void)
{
    if (++ended == 2) {
        MODEL_CHECK(read[0] != 0 || read[1] != 0);
    }
}

static void write_x_read_y(void)
{
    model_store(&x, 4, 1);
    fence_of(0);
    read[0] = model_load(&y, 4);
    check_store_buffering();
}

static void write_y_read_x(void)
{
    model_store(&y, 4, 1);
    fence_of(1);
    read[1] = model_load(&x, 4);
    check_store_buffering();
}

static void release_x_acquire_y(void)
{
    model_store_release(&x, 4, 1);
    read[0] = model_load_acquire(&y, 4);
    check_store_buffering();
}

static void release_y_acquire_x(void)
{
    model_store_release(&y, 4, 1);
    read[1] = model_load_acquire(&x, 4);
    check_store_buffering();
}

/* "SB": both threads read before the other's store is visible. */
static void store_buffering(void **state)
{
    (void)state;
    assert_null(explore(write_x_read_y, write_y_read_x, FULL, FULL));
    assert_non_null(explore(write_x_read_y, write_y_read_x, FULL, NONE));
    assert_non_null(explore(write_x_read_y, write_y_read_x, NONE, FULL));
    assert_non_null(explore(write_x_read_y, write_y_read_x, RELEASE, ACQUIRE));
    assert_non_null(explore(release_x_acquire_y, release_y_acquire_x, NONE, NONE));
}

static void write_x_twice(void)
{
    model_store(&x, 4, 1);
    model_store(&x, 4, 2);
}

static void read_x_twice(void)
{
    uint64_t first = model_load(&x, 4);

    MODEL_CHECK(model_load(&x, 4) >= first);
}

/* "CoRR": reads of one location never go back, even without a fence. */
static void coherence(void **state)
{
    (void)state;
    assert_null(explore(write_x_twice, read_x_twice, NONE, NONE));
}

static void never_sees_one_alone(void)
{
    MODEL_CHECK(model_load(&x, 4) != 1);
}

static void every_value_is_read(void **state)
{
    (void)state;
    assert_non_null(explore(write_x_twice, never_sees_one_alone, NONE, NONE));
}

static void write_data_then_y(void)
{
    model_store(&data, 4, 1);
    fence_of(0);
    model_store(&y, 4, 1);
}

static void read_data_after_y(void)
{
    model_await(&y);
    MODEL_CHECK(model_load(&y, 4) == 1);
    fence_of(1);
    MODEL_CHECK(model_load(&data, 4) == 1);
}

static void read_data_then_y(void)
{
    (void)model_load(&data, 4);
    fence_of(0);
    model_store(&y, 4, 1);
}

static void pass_data_by_y(void)
{
    model_store(&data, 4, 1);
    model_store_release(&y, 4, 1);
}

static void take_data_by_y(void)
{
    if (model_load_acquire(&y, 4) == 1) {
        MODEL_CHECK(model_load(&data, 4) == 1);
    }
}

static void change_data_after_y(void)
{
    model_store_release(&y, 4, 1);
    model_store(&data, 4, 1);
}

static void write_data_after_y(void)
{
    model_await(&y);
    (void)model_load(&y, 4);
    fence_of(1);
    model_store(&data, 4, 1);
}

static void data_races(void **state)
{
    (void)state;
    assert_null(explore(write_data_then_y, read_data_after_y, RELEASE, ACQUIRE));
    assert_non_null(explore(write_data_then_y, read_data_after_y, NONE, ACQUIRE));
    assert_non_null(explore(write_data_then_y, read_data_after_y, RELEASE, NONE));
    assert_null(explore(write_data_then_y, write_data_after_y, RELEASE, ACQUIRE));
    assert_non_null(explore(write_data_then_y, write_data_after_y, RELEASE, NONE));
    assert_null(explore(read_data_then_y, write_data_after_y, RELEASE, ACQUIRE));
    assert_non_null(explore(read_data_then_y, write_data_after_y, NONE, ACQUIRE));
    assert_non_null(explore(read_data_then_y, write_data_after_y, RELEASE, NONE));
    assert_null(explore(pass_data_by_y, take_data_by_y, NONE, NONE));
    assert_non_null(explore(write_data_then_y, take_data_by_y, NONE, NONE));
    assert_non_null(explore(change_data_after_y, take_data_by_y, NONE, NONE));
    /* Either store may be the last. */
    assert_non_null(explore(write_x_twice, write_x_then_y, FULL, FULL));
}

static void write_halves(void)
{
    model_store(&wide, 4, 1);
    fence_of(0);
    model_store((uint8_t *)&wide + 4, 4, 1);
}

static void read_whole(void)
{
    uint64_t value = model_load(&wide, 8);

    MODEL_CHECK(value == 0 || value == 1 || value == UINT64_C(0x100000001));
}

static void never_sees_half(void)
{
    MODEL_CHECK(model_load(&wide, 8) != 1);
}

/* Parts of a word belong to the same location. */
static void parts(void **state)
{
    (void)state;
    assert_null(explore(write_halves, read_whole, NONE, NONE));
    assert_non_null(explore(write_halves, never_sees_half, NONE, NONE));
}

static void signal_after_data(void)
{
    model_store(&data, 4, 1);
    model_signal(0);
}

static void wait_for_data(void)
{
    model_wait(0);
    MODEL_CHECK(model_load(&data, 4) == 1);
}

static void wait_twice(void)
{
    model_wait(0);
    model_wait(0);
}

static void nothing(void)
{
}

static void await_x(void)
{
    model_await(&x);
}

static void waiting(void **state)
{
    (void)state;
    assert_null(explore(signal_after_data, wait_for_data, NONE, NONE));
    assert_non_null(explore(signal_after_data, wait_twice, NONE, NONE));
    assert_non_null(explore(nothing, wait_for_data, NONE, NONE));
    assert_non_null(explore(nothing, await_x, NONE, NONE));
    assert_null(explore(nothing, nothing, NONE, NONE));
}

static void count_first(void)
{
    read[0] = model_update(&x, 4, UINT64_MAX, 0, 1);
    MODEL_CHECK(++ended != 2 || read[0] != read[1]);
}

static void count_second(void)
{
    read[1] = model_update(&x, 4, UINT64_MAX, 0, 1);
    MODEL_CHECK(++ended != 2 || read[0] != read[1]);
}

static void count_by_load_and_store(void)
{
    read[1] = model_load(&x, 4);
    model_store(&x, 4, read[1] + 1);
    MODEL_CHECK(++ended != 2 || read[0] != read[1]);
}

static void pass_data_by_update(void)
{
    model_store(&data, 4, 1);
    fence_of(0);
    (void)model_update(&y, 4, 0, 1, 0);
}

/* Read-modify-writes of one word are in a total order, and have no memory order of their own. */
static void updates(void **state)
{
    (void)state;
    assert_null(explore(count_first, count_second, NONE, NONE));
    assert_non_null(explore(count_first, count_by_load_and_store, NONE, NONE));
    assert_null(explore(pass_data_by_update, take_data_by_y, RELEASE, NONE));
    assert_non_null(explore(pass_data_by_update, take_data_by_y, NONE, NONE));
}

static void change_data_with_lock(void)
{
    model_lock(&wide);
    model_store(&data, 4, model_load(&data, 4) + 1);
    model_unlock(&wide);
}

static void change_data_without_lock(void)
{
    model_store(&data, 4, 1);
}

static void change_data_with_another_lock(void)
{
    model_lock(&x);
    model_store(&data, 4, 1);
    model_unlock(&x);
}

static void keep_lock(void)
{
    model_lock(&wide);
}

static void lock_twice(void)
{
    model_lock(&wide);
    model_lock(&wide);
}

static void locks(void **state)
{
    (void)state;
    assert_null(explore(change_data_with_lock, change_data_with_lock, NONE, NONE));
    assert_non_null(explore(change_data_with_lock, change_data_without_lock, NONE, NONE));
    assert_non_null(explore(change_data_with_lock, change_data_with_another_lock, NONE, NONE));
    assert_non_null(explore(keep_lock, change_data_with_lock, NONE, NONE));
    assert_non_null(explore(lock_twice, nothing, NONE, NONE));
}

/* Two threads pass data on to a third one by updates: an order is needed at each step. */
static bool acquires;
static bool releases;
static bool found;

static void write_data_and_release(void)
{
    model_store(&data, 4, 1);
    (void)model_update_ordered(&x, 4, UINT64_MAX, 1, 0, false, releases);
}

static void pass_x_to_y(void)
{
    if ((model_update_ordered(&x, 4, UINT64_MAX, 2, 0, true, false) & 1) != 0) {
        (void)model_update_ordered(&y, 4, UINT64_MAX, 1, 0, false, true);
    }
}

static void take_data_by_update_of_y(void)
{
    if (model_update_ordered(&y, 4, UINT64_MAX, 2, 0, acquires, false) == 1) {
        MODEL_CHECK(model_load(&data, 4) == 1);
        found = true;
    }
}

static const char *explore_three(bool has_release, bool has_acquire)
{
    struct model_program program = {
        "litmus test", prepare, {write_data_and_release, pass_x_to_y, take_data_by_update_of_y}};

    releases = has_release;
    acquires = has_acquire;
    return model_explore(&program, 100000).error;
}

static void three_threads(void **state)
{
    (void)state;
    found = false;
    assert_null(explore_three(true, true));
    assert_true(found);
    assert_non_null(explore_three(false, true));
    assert_non_null(explore_three(true, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_passing),
        cmocka_unit_test(message_passing_without_fences),
        cmocka_unit_test(orders_of_single_accesses),
        cmocka_unit_test(store_buffering),
        cmocka_unit_test(coherence),
        cmocka_unit_test(every_value_is_read),
        cmocka_unit_test(data_races),
        cmocka_unit_test(parts),
        cmocka_unit_test(waiting),
        cmocka_unit_test(updates),
        cmocka_unit_test(locks),
        cmocka_unit_test(three_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
