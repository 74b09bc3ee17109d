/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the ring of output bytes: order, overflow, and the writers' quotas. */
#include "console/output_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#define QUOTA 100u

static struct output_ring ring;

/* Empties the ring, as if `bytes` had been added and removed since boot. */
static void begin_at(uint32_t bytes)
{
    memset(&ring, 0, sizeof(ring));
    ring.added = bytes;
    ring.removed = bytes;
    for (unsigned writer = 0; writer < OUTPUT_RING_WRITERS; writer++) {
        ring.last_end[writer] = bytes;
    }
}

static void add(uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        assert_true(output_ring_add(&ring, (char)i));
    }
}

static void remove_first(uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        output_ring_remove(&ring, 1);
    }
}

/* Adds bytes of a writer. */
static void write_as(uint32_t writer, uint32_t bytes)
{
    uint32_t start = ring.added;

    add(bytes);
    output_ring_charge(&ring, writer, start);
}

/* The counters of bytes begin again at 0 in the second case. */
static void test_order(void **state)
{
    const uint32_t starts[] = {0, UINT32_MAX - OUTPUT_RING_BYTES / 2};

    (void)state;
    for (unsigned each = 0; each < 2; each++) {
        begin_at(starts[each]);
        add(OUTPUT_RING_BYTES);
        assert_int_equal(output_ring_length(&ring), OUTPUT_RING_BYTES);
        for (uint32_t i = 0; i < OUTPUT_RING_BYTES; i++) {
            assert_int_equal(output_ring_byte(&ring, ring.removed), (uint8_t)i);
            output_ring_remove(&ring, 1);
        }
        assert_int_equal(output_ring_length(&ring), 0);
    }
}

static void test_full(void **state)
{
    (void)state;
    begin_at(0);
    add(OUTPUT_RING_BYTES);
    assert_false(output_ring_add(&ring, 'x'));
    assert_int_equal(output_ring_length(&ring), OUTPUT_RING_BYTES);
    assert_int_equal(output_ring_byte(&ring, ring.removed), 0);
    output_ring_remove(&ring, 1);
    assert_true(output_ring_add(&ring, 'x'));
    assert_false(output_ring_add(&ring, 'y'));
    remove_first(OUTPUT_RING_BYTES - 1);
    assert_int_equal(output_ring_byte(&ring, ring.removed), 'x');
}

static void test_clear(void **state)
{
    (void)state;
    begin_at(0);
    write_as(0, QUOTA);
    output_ring_clear(&ring);
    assert_int_equal(output_ring_length(&ring), 0);
    assert_true(output_ring_has_room(&ring, 0, QUOTA, QUOTA));
    add(1);
    assert_int_equal(output_ring_length(&ring), 1);
}

static void test_quota(void **state)
{
    (void)state;
    begin_at(0);
    assert_true(output_ring_has_room(&ring, 0, QUOTA, QUOTA));
    write_as(0, 60);
    assert_true(output_ring_has_room(&ring, 0, QUOTA, 40));
    assert_false(output_ring_has_room(&ring, 0, QUOTA, 41));
    write_as(0, 40);
    assert_false(output_ring_has_room(&ring, 0, QUOTA, 1));
    /* A larger quota, and another writer. */
    assert_true(output_ring_has_room(&ring, 0, 2 * QUOTA, QUOTA));
    assert_true(output_ring_has_room(&ring, OUTPUT_RING_HYPERVISOR, QUOTA, QUOTA));
}

/* A writer's bytes count until the last of them is removed; those of others in between do not. */
static void test_sent_bytes_do_not_count(void **state)
{
    const uint32_t starts[] = {0, UINT32_MAX - 70};

    (void)state;
    for (unsigned each = 0; each < 2; each++) {
        begin_at(starts[each]);
        write_as(0, 30);
        write_as(1, 50);
        write_as(0, 30);
        assert_false(output_ring_has_room(&ring, 0, QUOTA, 41));
        remove_first(109);
        assert_false(output_ring_has_room(&ring, 0, QUOTA, 41));
        assert_true(output_ring_has_room(&ring, 0, QUOTA, 40));
        remove_first(1);
        assert_true(output_ring_has_room(&ring, 0, QUOTA, QUOTA));
    }
}

/* A charge does not count bytes that were sent before it. */
static void test_charge_after_all_bytes_were_sent(void **state)
{
    (void)state;
    begin_at(0);
    write_as(0, 60);
    remove_first(60);
    write_as(0, 10);
    assert_true(output_ring_has_room(&ring, 0, QUOTA, 90));
    assert_false(output_ring_has_room(&ring, 0, QUOTA, 91));
}

/* Others have written 2 GiB since the writer's last byte, and have bytes in the ring. */
static void test_a_writer_that_was_silent(void **state)
{
    (void)state;
    begin_at(0);
    write_as(0, QUOTA);
    ring.removed = (UINT32_C(1) << 31) + QUOTA + 1;
    ring.added = ring.removed;
    write_as(1, 50);
    assert_true(output_ring_has_room(&ring, 0, QUOTA, QUOTA));
}

/* Bytes that are added at once have the order of those that are added one by one, also over the end
 * of the ring, and no more are added than it has room for. */
static void test_many_at_once(void **state)
{
    char bytes[200];

    (void)state;
    for (uint32_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
    }
    for (uint32_t start = OUTPUT_RING_BYTES - 201; start <= OUTPUT_RING_BYTES; start++) {
        begin_at(start);
        output_ring_add_bytes(&ring, bytes, sizeof(bytes));
        assert_int_equal(output_ring_length(&ring), sizeof(bytes));
        for (uint32_t i = 0; i < sizeof(bytes); i++) {
            assert_int_equal(output_ring_byte(&ring, ring.removed), i);
            output_ring_remove(&ring, 1);
        }
    }
    begin_at(7);
    add(OUTPUT_RING_BYTES - 3);
    output_ring_add_bytes(&ring, bytes, sizeof(bytes));
    assert_int_equal(output_ring_length(&ring), OUTPUT_RING_BYTES);
    remove_first(OUTPUT_RING_BYTES - 1);
    assert_int_equal(output_ring_byte(&ring, ring.removed), 2);
    output_ring_add_bytes(&ring, bytes, 0);
    assert_int_equal(output_ring_length(&ring), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_sent_bytes_do_not_count),
        cmocka_unit_test(test_charge_after_all_bytes_were_sent),
        cmocka_unit_test(test_a_writer_that_was_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
