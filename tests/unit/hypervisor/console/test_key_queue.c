/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the keys that wait for a partition. */
#include "console/key_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "console/terminal.h"
#include <string.h>

#define BYTES_MAX (KEY_QUEUE_KEYS - 1) /* one place is a command's */

static struct key_queue queue;

/* Empties the queue; the next key is put at this position. */
static void begin_at(uint32_t position)
{
    memset(&queue, 0, sizeof(queue));
    queue.first = position;
}

static void add(uint32_t keys)
{
    for (uint32_t key = 0; key < keys; key++) {
        assert_true(key_queue_add(&queue, key));
    }
}

/* Removes the oldest key, which is to be `wanted`. */
static void expect(uint32_t wanted)
{
    uint32_t key = UINT32_MAX;

    assert_true(key_queue_remove(&queue, &key));
    assert_int_equal(key, wanted);
}

static void test_empty(void **state)
{
    uint32_t key = 7;

    (void)state;
    begin_at(0);
    assert_true(key_queue_is_empty(&queue));
    assert_false(key_queue_remove(&queue, &key));
    assert_int_equal(key, 7);
    add(1);
    assert_false(key_queue_is_empty(&queue));
    expect(0);
    assert_true(key_queue_is_empty(&queue));
}

static void test_order(void **state)
{
    const uint32_t positions[] = {0, KEY_QUEUE_KEYS - 3, UINT32_MAX - 3};

    (void)state;
    for (unsigned each = 0; each < 3; each++) {
        begin_at(positions[each]);
        add(BYTES_MAX);
        for (uint32_t key = 0; key < BYTES_MAX; key++) {
            expect(key);
        }
        assert_true(key_queue_is_empty(&queue));
    }
}

/* The queue is full of bytes, of which KEY_SHOW counts as one, and still accepts a command. */
static void test_full(void **state)
{
    (void)state;
    begin_at(0);
    add(BYTES_MAX);
    assert_false(key_queue_add(&queue, 'x'));
    assert_false(key_queue_add(&queue, KEY_SHOW));
    assert_true(key_queue_add(&queue, KEY_STOP));
    assert_false(key_queue_add(&queue, KEY_RESTART));
    expect(0);
    assert_false(key_queue_add(&queue, 'x')); /* the place that is free is a command's */
    expect(1);
    assert_true(key_queue_add(&queue, 'x'));
    for (uint32_t key = 2; key < BYTES_MAX; key++) {
        expect(key);
    }
    expect(KEY_STOP);
    expect('x');
}

static void test_one_command_at_a_time(void **state)
{
    (void)state;
    begin_at(0);
    assert_true(key_queue_add(&queue, KEY_RESTART));
    assert_false(key_queue_add(&queue, KEY_RESTART));
    assert_false(key_queue_add(&queue, KEY_STOP));
    assert_true(key_queue_add(&queue, KEY_SHOW));
    expect(KEY_RESTART);
    assert_true(key_queue_add(&queue, KEY_STOP));
    expect(KEY_SHOW);
    expect(KEY_STOP);
    assert_true(key_queue_is_empty(&queue));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_one_command_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
