/* SPDX-License-Identifier: BSD-2-Clause */
/* The caches of a machine: which cache answers, whom each count belongs to, and what the processors
 * do to each other's lines. */
#include "hierarchy.h"
#include "model_test.h"
#include <string.h>

#define LINE  64u
#define FIRST UINT64_C(0x10000) /* memory of owner A */
#define OTHER UINT64_C(0x20000) /* memory of owner B */
#define OWNED UINT64_C(0x10000) /* bytes of each */

enum { NOBODY = OWNER_OTHER, A, B };

/* The private caches have two sets of two ways, the shared one has four sets of two ways. */
static const struct hierarchy_geometry geometry = {
    .processors = 2,
    .instruction = {.bytes = 4 * LINE, .ways = 2, .line_bytes = LINE},
    .data = {.bytes = 4 * LINE, .ways = 2, .line_bytes = LINE},
    .shared = {.bytes = 8 * LINE, .ways = 2, .line_bytes = LINE},
};
#define SHARED_WAY (4 * LINE) /* bytes: addresses so far apart are in the same set */

static struct owners owners;
static struct hierarchy caches;

static int set_up(void **state)
{
    (void)state;
    memset(&owners, 0, sizeof(owners));
    owners.count = 3;
    owners.range_count = 2;
    owners.ranges[0] = (struct owner_range){.start = FIRST, .bytes = OWNED, .owner = A};
    owners.ranges[1] = (struct owner_range){.start = OTHER, .bytes = OWNED, .owner = B};
    assert_true(hierarchy_create(&caches, &geometry, &owners, 1));
    caches.stream = (struct stream){.count = UINT64_MAX};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hierarchy_destroy(&caches);
    return 0;
}

static void fetch(uint32_t processor, uint64_t address)
{
    hierarchy_access(&caches, processor, address, 4, ACCESS_FETCH);
}

static void load(uint32_t processor, uint64_t address)
{
    hierarchy_access(&caches, processor, address, 8, ACCESS_READ);
}

static void store(uint32_t processor, uint64_t address)
{
    hierarchy_access(&caches, processor, address, 8, ACCESS_WRITE);
}

static struct cache_line *shared_line(uint64_t address)
{
    return cache_find(&caches.shared, address / LINE);
}

static struct cache_line *data_line(uint32_t processor, uint64_t address)
{
    return cache_find(&caches.processors[processor].data, address / LINE);
}

static void test_levels(void **state)
{
    const struct owner_counts *counts = &caches.counts[A];

    (void)state;
    load(0, FIRST);      /* from memory */
    load(0, FIRST + 56); /* from the private cache */
    load(1, FIRST);      /* from the shared cache */
    fetch(0, FIRST);
    fetch(0, FIRST);
    hierarchy_access(&caches, 1, FIRST, 8, ACCESS_WALK);
    assert_int_equal(counts->accesses[ACCESS_READ], 3);
    assert_int_equal(counts->accesses[ACCESS_FETCH], 2);
    assert_int_equal(counts->accesses[ACCESS_WRITE], 0);
    assert_int_equal(counts->accesses[ACCESS_WALK], 1);
    assert_int_equal(counts->data_misses, 2);
    assert_int_equal(counts->instruction_misses, 1);
    assert_int_equal(counts->shared_misses, 1);
    assert_int_equal(counts->shared_hits, 3);
    assert_int_equal(caches.fills[(FIRST / LINE % 4) * OWNERS_MAX + A], 1);
    assert_int_equal(caches.counts[B].shared_misses, 0);
    assert_int_equal(caches.counts[NOBODY].shared_misses, 0);
}

static void test_access_of_two_lines(void **state)
{
    (void)state;
    load(0, FIRST + LINE - 4);
    assert_int_equal(caches.counts[A].accesses[ACCESS_READ], 2);
    assert_int_equal(caches.counts[A].shared_misses, 2);
    load(0, OTHER - 4); /* the end of A's memory, and the begin of B's */
    assert_int_equal(caches.counts[A].shared_misses, 3);
    assert_int_equal(caches.counts[B].shared_misses, 1);
}

static void test_who_evicts_whom(void **state)
{
    (void)state;
    load(0, FIRST);
    load(0, FIRST + SHARED_WAY);
    load(1, OTHER); /* evicts A's first line, */
    assert_null(shared_line(FIRST));
    assert_null(data_line(0, FIRST)); /* from the private cache, too */
    load(1, OTHER + SHARED_WAY);      /* its second, */
    load(1, OTHER + 2 * SHARED_WAY);  /* and a line of B */
    load(0, FIRST);
    assert_int_equal(caches.counts[B].evicted[A], 2);
    assert_int_equal(caches.counts[B].evicted[B], 1);
    assert_int_equal(caches.counts[A].evicted[B], 1);
    assert_int_equal(caches.counts[A].evicted[A], 0);
    assert_int_equal(caches.counts[A].shared_misses, 3);
    assert_int_equal(hierarchy_occupancy(&caches, 0, A), 1);
    assert_int_equal(hierarchy_occupancy(&caches, 0, B), 1);
    assert_int_equal(hierarchy_occupancy(&caches, 1, B), 0);
}

static void test_fetched_lines_leave_with_the_shared_one(void **state)
{
    (void)state;
    fetch(0, FIRST);
    load(1, OTHER);
    load(1, OTHER + SHARED_WAY);
    fetch(0, FIRST);
    assert_int_equal(caches.counts[A].instruction_misses, 2);
}

/* A dirty line is written to memory once, wherever it was dirty. */
static void test_write_backs(void **state)
{
    (void)state;
    store(0, FIRST);
    store(0, FIRST);
    assert_false(shared_line(FIRST)->is_dirty);
    load(1, OTHER);
    load(1, OTHER + SHARED_WAY);
    assert_int_equal(caches.counts[A].write_backs, 1);
    assert_int_equal(caches.counts[B].write_backs, 0);

    store(1, OTHER + LINE); /* set 1; its line leaves the private cache first */
    load(1, OTHER + LINE + 2 * LINE);
    load(1, OTHER + LINE + 6 * LINE);
    assert_null(data_line(1, OTHER + LINE));
    assert_true(shared_line(OTHER + LINE)->is_dirty);
    load(0, FIRST + LINE);
    load(0, FIRST + LINE + SHARED_WAY);
    assert_int_equal(caches.counts[B].write_backs, 1);
    assert_int_equal(caches.counts[A].write_backs, 1);
}

static void test_stores_take_copies_away(void **state)
{
    (void)state;
    load(0, FIRST);
    load(1, FIRST);
    store(0, FIRST);
    assert_null(data_line(1, FIRST));
    assert_true(data_line(0, FIRST)->is_exclusive);
    load(1, FIRST); /* the written line is now shared, and dirty in the shared cache */
    assert_true(shared_line(FIRST)->is_dirty);
    assert_false(data_line(0, FIRST)->is_dirty);
    assert_false(data_line(0, FIRST)->is_exclusive);
    assert_false(data_line(1, FIRST)->is_exclusive);
    store(1, FIRST);
    assert_null(data_line(0, FIRST));
    store(0, FIRST); /* a miss */
    assert_null(data_line(1, FIRST));
    assert_int_equal(caches.counts[A].data_misses, 4);
}

static void test_fresh_copy_is_exclusive(void **state)
{
    (void)state;
    load(0, FIRST);
    assert_true(data_line(0, FIRST)->is_exclusive);
    load(1, FIRST);
    assert_false(data_line(0, FIRST)->is_exclusive);
}

static void test_streams(void **state)
{
    struct stream_counts whole, again, changed;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        load(0, FIRST + i * LINE);
        load(1, OTHER);
    }
    whole = caches.counts[A].stream;
    assert_int_equal(whole.accesses, 10);
    assert_int_equal(whole.misses, 10);
    (void)tear_down(state);
    (void)set_up(state);
    for (unsigned i = 0; i < 10; i++) {
        load(0, FIRST + i * LINE); /* without a neighbour: the same accesses miss */
    }
    again = caches.counts[A].stream;
    assert_memory_equal(&again, &whole, sizeof(whole));
    (void)tear_down(state);
    (void)set_up(state);
    for (unsigned i = 0; i < 10; i++) {
        load(0, FIRST + (i == 5 ? 4 : i) * LINE);
    }
    changed = caches.counts[A].stream;
    assert_int_equal(changed.accesses, 10);
    assert_int_equal(changed.misses, 9);
    assert_true(changed.digest != whole.digest);
    assert_true(changed.path != whole.path);
}

/* The same accesses with another outcome are the same path. */
static void test_path_is_without_outcomes(void **state)
{
    struct stream_counts hits, misses;

    load(0, FIRST);
    hierarchy_begin_stream(&caches, A);
    load(0, FIRST);
    hits = caches.counts[A].stream;
    assert_int_equal(hits.accesses, 1);
    assert_int_equal(hits.misses, 0);
    (void)tear_down(state);
    (void)set_up(state);
    load(0, FIRST);
    misses = caches.counts[A].stream;
    assert_int_equal(misses.misses, 1);
    assert_true(hits.path == misses.path);
    assert_true(hits.digest != misses.digest);
}

static void test_stream_of_an_owner_elsewhere(void **state)
{
    struct stream_counts here, there;

    for (uint32_t i = 0; i < 2; i++) {
        owners.starts[A] = owners.ranges[0].start;
        load(0, owners.starts[A] + 3 * LINE);
        *(i == 0 ? &here : &there) = caches.counts[A].stream;
        (void)tear_down(state);
        (void)set_up(state);
        owners.ranges[0].start -= SHARED_WAY;
    }
    assert_memory_equal(&here, &there, sizeof(here));
}

/* The same accesses in another order, or of another kind, are another stream. */
static void test_digest_sees_order_and_kind(void **state)
{
    uint64_t digests[3];

    for (unsigned turn = 0; turn < 3; turn++) {
        load(0, turn == 1 ? FIRST + LINE : FIRST);
        load(0, turn == 1 ? FIRST : FIRST + LINE);
        if (turn == 2) {
            store(0, FIRST);
        } else {
            load(0, FIRST);
        }
        digests[turn] = caches.counts[A].stream.digest;
        (void)tear_down(state);
        (void)set_up(state);
    }
    assert_true(digests[0] != digests[1]);
    assert_true(digests[0] != digests[2]);
}

static void test_part_of_a_stream(void **state)
{
    uint64_t digest;

    (void)state;
    caches.stream = (struct stream){.first = 2, .count = 3};
    load(0, FIRST);
    load(0, FIRST + LINE);
    for (unsigned i = 0; i < 10; i++) {
        load(0, FIRST + 9 * LINE);
    }
    assert_int_equal(caches.counts[A].stream.accesses, 3);
    assert_int_equal(caches.counts[A].stream.misses, 1);
    digest = caches.counts[A].stream.digest;
    hierarchy_reset_counts(&caches);
    assert_int_equal(caches.counts[A].accesses[ACCESS_READ], 0);
    assert_int_equal(caches.counts[A].shared_misses, 0);
    assert_int_equal(caches.fills[A], 0);
    assert_true(caches.counts[A].stream.digest == digest);
    load(0, FIRST + 9 * LINE);
    assert_int_equal(caches.counts[A].data_misses, 0); /* the line is still there */
}

/* Each private line is in the shared cache; at most one data cache has a dirty line, and if one has
 * it exclusively, no other has it. */
static void check_invariants(void)
{
    for (uint32_t i = 0; i < geometry.processors; i++) {
        const struct cache *data = &caches.processors[i].data;
        const struct cache *instruction = &caches.processors[i].instruction;

        for (uint32_t line = 0; line < data->sets * data->ways; line++) {
            const struct cache_line *own = &data->lines[line];
            const struct cache_line *others;

            if (instruction->lines[line].is_valid) {
                assert_non_null(cache_find(&caches.shared, instruction->lines[line].number));
            }
            if (!own->is_valid) {
                continue;
            }
            others = cache_find(&caches.processors[1 - i].data, own->number);
            assert_non_null(cache_find(&caches.shared, own->number));
            assert_true(own->is_exclusive || !own->is_dirty);
            assert_true(others == NULL || !own->is_exclusive);
        }
    }
}

static void test_random_traffic(void **state)
{
    uint64_t random = 1, shared_accesses = 0, evictions = 0;
    const uint32_t lines = caches.shared.sets * caches.shared.ways;

    (void)state;
    for (unsigned i = 0; i < 50000; i++) {
        uint64_t address = FIRST + random_below(&random, 2 * OWNED) % (OWNED + 32 * LINE);

        hierarchy_access(&caches, (uint32_t)random_below(&random, 2),
                         i % 2 == 0 ? address : FIRST + address % (16 * LINE), 8,
                         (enum access)random_below(&random, ACCESS_KINDS));
        if (i % 16 == 0) {
            check_invariants();
        }
    }
    for (unsigned i = 0; i < owners.count; i++) {
        const struct owner_counts *counts = &caches.counts[i];

        shared_accesses += counts->shared_misses;
        for (unsigned other = 0; other < owners.count; other++) {
            evictions += counts->evicted[other];
        }
    }
    assert_int_equal(shared_accesses,
                     evictions + lines); /* each fill found a line, or a free way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_access_of_two_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_evicts_whom, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fetched_lines_leave_with_the_shared_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_write_backs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stores_take_copies_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fresh_copy_is_exclusive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path_is_without_outcomes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stream_of_an_owner_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_digest_sees_order_and_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_part_of_a_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random_traffic, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
