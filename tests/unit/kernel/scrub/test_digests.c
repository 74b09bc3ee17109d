/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of memory that must not change: each changed word is found, in its page. */
#include "kernel_fixture.h"
#include "scrub/digests.h"
#include <string.h>

#define PAGE_WORDS (SCRUB_PAGE_BYTES / sizeof(uint64_t))

static uint64_t first[2 * PAGE_WORDS];
static uint64_t second[PAGE_WORDS + 3]; /* its second page has three words */
static uint64_t made[4];

static struct scrub_digests digests_of_both(void)
{
    const struct scrub_range ranges[] = {{first, sizeof(first)}, {second, sizeof(second)}};
    struct scrub_digests digests = {0};

    for (size_t i = 0; i < 2; i++) {
        assert_true(scrub_digests_add(&digests, &ranges[i]));
    }
    assert_int_equal(digests.page_count, 4);
    scrub_digests_make(&digests, made);
    return digests;
}

/* Changes a word, and expects that the page at `page` alone is found. */
static void expect_found(const struct scrub_digests *digests, uint64_t *word, uint64_t bits,
                         const void *page)
{
    unsigned found = 0;

    *word ^= bits;
    for (size_t i = 0; i < digests->page_count; i++) {
        const void *changed = scrub_digests_changed(digests, i);

        if (changed != NULL) {
            assert_ptr_equal(changed, page);
            found++;
        }
    }
    *word ^= bits;
    assert_int_equal(found, 1);
}

static void test_each_bit_of_a_word_is_found(void **state)
{
    struct scrub_digests digests = digests_of_both();

    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        expect_found(&digests, &first[PAGE_WORDS - 1], UINT64_C(1) << bit, first);
        expect_found(&digests, &second[PAGE_WORDS + 2], UINT64_C(1) << bit, second + PAGE_WORDS);
    }
}

static void test_each_word_is_found(void **state)
{
    struct scrub_digests digests = digests_of_both();

    (void)state;
    for (size_t i = 0; i < 2 * PAGE_WORDS; i++) {
        expect_found(&digests, &first[i], UINT64_MAX, &first[i / PAGE_WORDS * PAGE_WORDS]);
    }
    for (size_t i = 0; i < PAGE_WORDS + 3; i++) {
        expect_found(&digests, &second[i], UINT64_MAX, &second[i / PAGE_WORDS * PAGE_WORDS]);
    }
}

static void test_exchanged_words_are_found(void **state)
{
    struct scrub_digests digests;

    (void)state;
    first[3] = 1;
    first[4] = 2;
    digests = digests_of_both();
    first[3] = 2;
    first[4] = 1;
    assert_ptr_equal(scrub_digests_changed(&digests, 0), first);
    first[3] = first[4] = 0;
}

static void test_unchanged_memory_is_no_finding(void **state)
{
    struct scrub_digests digests;

    (void)state;
    memset(second, 0xa5, sizeof(second));
    digests = digests_of_both();
    for (size_t i = 0; i < digests.page_count; i++) {
        assert_null(scrub_digests_changed(&digests, i));
    }
}

static void test_odd_and_surplus_ranges_are_refused(void **state)
{
    const struct scrub_range odd_start = {(const uint8_t *)first + 4, 8}, odd_size = {first, 12},
                             empty = {first, 0};
    struct scrub_digests digests = {0};

    (void)state;
    assert_false(scrub_digests_add(&digests, &odd_start));
    assert_false(scrub_digests_add(&digests, &odd_size));
    for (size_t i = 0; i < SCRUB_RANGES_MAX + 1; i++) {
        assert_true(scrub_digests_add(&digests, &empty));
    }
    assert_false(scrub_digests_add(&digests, &empty));
    assert_int_equal(digests.page_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_bit_of_a_word_is_found),
        cmocka_unit_test(test_each_word_is_found),
        cmocka_unit_test(test_exchanged_words_are_found),
        cmocka_unit_test(test_unchanged_memory_is_no_finding),
        cmocka_unit_test(test_odd_and_surplus_ranges_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
