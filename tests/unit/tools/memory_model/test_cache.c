/* SPDX-License-Identifier: BSD-2-Clause */
/* A cache: its geometry, its sets, and the victim that each replacement policy chooses. */
#include "cache.h"
#include "model_test.h"

#define SETS 4u
#define WAYS 4u
#define LINE 64u

static const struct cache_geometry small = {
    .bytes = SETS * WAYS * LINE, .ways = WAYS, .line_bytes = LINE};

static void make(struct cache *cache, enum cache_replacement replacement, uint64_t seed)
{
    struct cache_geometry geometry = small;

    geometry.replacement = replacement;
    assert_true(cache_create(cache, &geometry, seed));
}

/* Returns true for a hit. `tag` makes lines of set 0. */
static bool use(struct cache *cache, uint64_t tag)
{
    uint64_t number = tag * cache->sets;
    struct cache_line *line = cache_find(cache, number);

    if (line != NULL) {
        cache_use(cache, line);
        return true;
    }
    cache_fill(cache, cache_victim(cache, number), number, 0);
    return false;
}

static bool holds(const struct cache *cache, uint64_t tag)
{
    return cache_find(cache, tag * cache->sets) != NULL;
}

static void test_sets(void **state)
{
    struct cache cache;

    (void)state;
    make(&cache, CACHE_LRU, 0);
    assert_int_equal(cache.sets, SETS);
    /* All lines of the cache fit at once if they are consecutive. */
    for (uint64_t number = 100; number < 100 + SETS * WAYS; number++) {
        struct cache_line *line = cache_victim(&cache, number);

        assert_false(line->is_valid);
        assert_int_equal((size_t)(line - cache.lines) / WAYS, number % SETS);
        cache_fill(&cache, line, number, 7);
    }
    for (uint64_t number = 100; number < 100 + SETS * WAYS; number++) {
        assert_int_equal(cache_find(&cache, number)->owner, 7);
    }
    assert_null(cache_find(&cache, 99));
    assert_true(cache_victim(&cache, 99)->is_valid);
    cache_destroy(&cache);
}

static void test_lru(void **state)
{
    struct cache cache;

    (void)state;
    make(&cache, CACHE_LRU, 0);
    for (uint64_t tag = 0; tag < WAYS; tag++) {
        assert_false(use(&cache, tag));
    }
    assert_true(use(&cache, 0));
    assert_false(use(&cache, 10)); /* 1 leaves */
    assert_false(holds(&cache, 1));
    assert_true(use(&cache, 2));
    assert_false(use(&cache, 11)); /* 3 leaves */
    assert_false(holds(&cache, 3));
    assert_true(holds(&cache, 0) && holds(&cache, 2) && holds(&cache, 10));
    /* A loop over one line more than there are ways always misses. */
    for (unsigned i = 0; i < 100; i++) {
        assert_false(use(&cache, 20 + i % (WAYS + 1)));
    }
    cache_destroy(&cache);
}

/* The sequence was followed by hand. Ways are filled in the order 0 to 3; the bits of the tree lead
 * away from each use. */
static void test_plru(void **state)
{
    struct cache cache;

    (void)state;
    make(&cache, CACHE_PLRU, 0);
    for (uint64_t tag = 0; tag < WAYS; tag++) {
        assert_false(use(&cache, tag));
    }
    assert_true(use(&cache, 0));   /* the root leads right, the right node to way 2 */
    assert_false(use(&cache, 10)); /* in way 2; the root leads left, the left node to way 1 */
    assert_false(holds(&cache, 2));
    assert_false(use(&cache, 11)); /* in way 1; the root leads right, the right node to way 3 */
    assert_false(holds(&cache, 1));
    assert_false(use(&cache, 12));
    assert_false(holds(&cache, 3));
    assert_true(holds(&cache, 0) && holds(&cache, 10) && holds(&cache, 11));
    cache_destroy(&cache);
}

static uint64_t hits_at_random(uint64_t seed)
{
    struct cache cache;
    uint64_t hits = 0, random = 1;

    make(&cache, CACHE_RANDOM, seed);
    for (unsigned i = 0; i < 10000; i++) {
        hits = hits * 3 + (use(&cache, random_below(&random, 3 * WAYS)) ? 1 : 0);
    }
    cache_destroy(&cache);
    return hits;
}

static void test_random(void **state)
{
    struct cache cache;
    unsigned chosen[WAYS] = {0};

    (void)state;
    assert_true(hits_at_random(1) == hits_at_random(1));
    assert_true(hits_at_random(1) != hits_at_random(2));
    make(&cache, CACHE_RANDOM, 5);
    for (unsigned i = 0; i < 4000; i++) {
        (void)use(&cache, i);
        chosen[cache_victim(&cache, 0) - cache.lines]++;
    }
    for (unsigned way = 0; way < WAYS; way++) {
        assert_in_range(chosen[way], 900, 1100);
    }
    cache_destroy(&cache);
}

static void test_invalid_lines_come_first(void **state)
{
    static const enum cache_replacement all[] = {CACHE_LRU, CACHE_PLRU, CACHE_RANDOM};

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct cache cache;

        make(&cache, all[i], 3);
        for (uint64_t tag = 0; tag < WAYS; tag++) {
            (void)use(&cache, tag);
        }
        cache_find(&cache, 2 * SETS)->is_valid = false;
        assert_null(cache_find(&cache, 2 * SETS));
        assert_ptr_equal(cache_victim(&cache, 0), &cache.lines[2]);
        cache_destroy(&cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_lru),
        cmocka_unit_test(test_plru),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_invalid_lines_come_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
