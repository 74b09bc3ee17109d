/* SPDX-License-Identifier: BSD-2-Clause */
/* The SYN cache (syn_cache.h): which entries it keeps. */
#include "syn_cache.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(uint64_t connection)
{
    const struct syn_cache_entry entry = {
        .connection = connection,
        .own_sequence = (uint32_t)connection + 1,
        .peer_sequence = (uint32_t)connection + 2,
        .segment_bytes = 1460,
    };

    syn_cache_add(&entry);
}

static bool take(uint64_t connection)
{
    struct syn_cache_entry entry;

    if (!syn_cache_take(connection, (uint32_t)connection + 1, &entry)) {
        return false;
    }
    assert_int_equal(entry.connection, connection);
    assert_int_equal(entry.peer_sequence, (uint32_t)connection + 2);
    assert_int_equal(entry.segment_bytes, 1460);
    return true;
}

static void test_entries_are_taken_once(void **state)
{
    struct syn_cache_entry entry;

    (void)state;
    assert_false(take(1));
    add(1);
    assert_false(syn_cache_take(1, 1, &entry)); /* another sequence number */
    assert_false(syn_cache_take(2, 2, &entry)); /* another connection */
    assert_true(take(1));
    assert_false(take(1));
}

static void test_the_oldest_entry_is_replaced(void **state)
{
    const uint64_t count = SYN_CACHE_ENTRIES;

    (void)state;
    for (uint64_t i = 0; i < 3 * count; i++) {
        add(i);
    }
    for (uint64_t i = 0; i < 2 * count; i++) {
        assert_false(take(i));
    }
    assert_true(take(2 * count + count / 2)); /* from the middle: one more fits */
    add(3 * count);
    assert_true(take(2 * count));
    add(3 * count + 1);
    add(3 * count + 2);
    assert_false(take(2 * count + 1));
    for (uint64_t i = 2 * count + 2; i < 3 * count + 3; i++) {
        assert_true(take(i) == (i != 2 * count + count / 2));
    }
}

/* A client waits for a control block, while others come and are served, and some repeat their
 * segments, each time in vain. */
static void test_entries_that_come_and_go_replace_none(void **state)
{
    (void)state;
    add(7);
    for (uint64_t i = 100; i < 100 + 10 * SYN_CACHE_ENTRIES; i++) {
        add(i);
        assert_true(take(i));
    }
    assert_true(take(7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_taken_once),
        cmocka_unit_test(test_the_oldest_entry_is_replaced),
        cmocka_unit_test(test_entries_that_come_and_go_replace_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
