/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in kept memory: lives that end before any of their stores, damage to each bit, records of
 * others, and numbers that begin again.
 */
#include "ended_life.h"
#include "kernel/kept.h"
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CONTENT_MAX  40u
#define PLACE_BYTES  256u /* of a record with CONTENT_MAX bytes */
#define COPY_BYTES   128u
#define HEADER_WORDS 5u
#define WORDS        (PLACE_BYTES / sizeof(uint64_t))
#define STORES       16u /* more than a write of CONTENT_MAX bytes has */

static _Alignas(KEPT_ALIGNMENT) uint64_t place[WORDS];
static const struct kept_format format = {"test", 7, 1, CONTENT_MAX};
static uint8_t content[CONTENT_MAX];
static size_t length;
static struct kept_record record;

static int clear(void **state)
{
    (void)state;
    memset(place, 0, sizeof(place));
    stores_left = ENDLESS;
    return 0;
}

/* Begins a life. */
static enum kept_start open_record(void)
{
    return kept_open_at(&record, place, &format, content, &length);
}

/* Writes `bytes` bytes that all have the value. */
static void write_bytes(uint8_t value, size_t bytes)
{
    uint8_t written[CONTENT_MAX];

    memset(written, value, sizeof(written));
    assert_true(kept_write(&record, written, bytes));
}

/* The same, but the life ends before the store of number `stores`. Returns true if the write was
 * completed before. */
static bool write_until(uint8_t value, size_t bytes, uint64_t stores)
{
    volatile bool is_completed = false;

    if (setjmp(life_end) == 0) {
        stores_left = stores;
        write_bytes(value, bytes);
        is_completed = true;
    }
    stores_left = ENDLESS;
    return is_completed;
}

/* Begins a life that ends before the store of number `stores`. */
static void open_until(const struct kept_format *other, uint64_t stores)
{
    if (setjmp(life_end) == 0) {
        stores_left = stores;
        (void)kept_open_at(&record, place, other, content, &length);
    }
    stores_left = ENDLESS;
}

static void expect_content(uint8_t value, size_t bytes)
{
    assert_int_equal(length, bytes);
    for (size_t i = 0; i < CONTENT_MAX; i++) {
        assert_int_equal(content[i], i < bytes ? value : 0);
    }
}

static void expect_restored(uint8_t value, size_t bytes)
{
    assert_int_equal(open_record(), KEPT_RESTORED);
    expect_content(value, bytes);
}

static void expect_cold(enum kept_start start)
{
    assert_int_equal(open_record(), start);
    expect_content(0, 0);
}

static void the_last_content_is_restored(void **state)
{
    (void)state;
    assert_int_equal(kept_record_bytes(CONTENT_MAX), PLACE_BYTES);
    expect_cold(KEPT_EMPTY);
    expect_cold(KEPT_EMPTY);
    for (uint8_t i = 1; i < 100; i++) {
        write_bytes(i, i % (CONTENT_MAX + 1));
        if (i % 3 != 0) {
            expect_restored(i, i % (CONTENT_MAX + 1));
        }
    }
}

static void a_content_that_is_too_large_is_refused(void **state)
{
    uint8_t large[CONTENT_MAX + 1] = {0};
    struct kept_record nowhere = {.newest = 1};

    (void)state;
    expect_cold(KEPT_EMPTY);
    write_bytes(1, CONTENT_MAX);
    assert_false(kept_write(&record, large, sizeof(large)));
    expect_restored(1, CONTENT_MAX);
    assert_false(kept_write(&nowhere, large, 1));
    kept_erase(&nowhere);
    assert_int_equal(kept_record_bytes(KEPT_BYTES_MAX + 1), SIZE_MAX);
    assert_int_equal(kept_record_bytes(0), 2 * KEPT_ALIGNMENT);
}

static void a_write_that_ends_early_changes_nothing(void **state)
{
    static const size_t lengths[] = {0, 1, 7, 8, 9, 39, CONTENT_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (uint64_t stores = 0; stores < STORES; stores++) {
            for (unsigned before = 1; before < 4; before++) {
                bool is_completed;

                clear(NULL);
                expect_cold(KEPT_EMPTY);
                for (unsigned k = 0; k < before; k++) {
                    write_bytes(1, CONTENT_MAX - k);
                }
                is_completed = write_until(2, lengths[i], stores);
                expect_restored(is_completed ? 2 : 1,
                                is_completed ? lengths[i] : CONTENT_MAX - before + 1);
                write_bytes(3, 5);
                expect_restored(3, 5);
            }
        }
    }
}

static void a_first_write_that_ends_early_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t stores = 0; stores < STORES; stores++) {
        clear(NULL);
        expect_cold(KEPT_EMPTY);
        if (write_until(1, CONTENT_MAX, stores)) {
            expect_restored(1, CONTENT_MAX);
        } else {
            expect_cold(KEPT_EMPTY);
        }
    }
}

/* Flips a bit of a record that was written twice, first with 1, then with 2. */
static void check_bit(unsigned word, unsigned bit)
{
    bool is_of_newest = word >= WORDS / 2; /* copy 1 */
    bool is_of_copy = word % (WORDS / 2) < HEADER_WORDS + CONTENT_MAX / sizeof(uint64_t);
    bool is_of_header = word % (WORDS / 2) < HEADER_WORDS;

    clear(NULL);
    expect_cold(KEPT_EMPTY);
    write_bytes(1, CONTENT_MAX);
    write_bytes(2, CONTENT_MAX);
    place[word] ^= UINT64_C(1) << bit;
    if (!is_of_copy || (!is_of_newest && !is_of_header)) {
        expect_restored(2, CONTENT_MAX);
        return;
    }
    assert_int_equal(open_record(), KEPT_PERHAPS_OLDER);
    expect_content(is_of_newest ? 1 : 2, CONTENT_MAX);
    write_bytes(3, CONTENT_MAX);
    expect_restored(3, CONTENT_MAX);
}

static void each_damaged_bit_is_found(void **state)
{
    (void)state;
    for (unsigned word = 0; word < WORDS; word++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            check_bit(word, bit);
        }
    }
}

/* Copy 1 was never written. */
static void each_damaged_bit_of_a_first_write_is_found(void **state)
{
    (void)state;
    for (unsigned word = 0; word < HEADER_WORDS + CONTENT_MAX / sizeof(uint64_t); word++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            clear(NULL);
            expect_cold(KEPT_EMPTY);
            write_bytes(1, CONTENT_MAX);
            place[word] ^= UINT64_C(1) << bit;
            expect_cold(KEPT_DAMAGED);
            write_bytes(2, CONTENT_MAX);
            place[WORDS / 2] ^= UINT64_C(1) << bit; /* its sequence */
            assert_int_equal(open_record(), KEPT_PERHAPS_OLDER);
            expect_content(2, CONTENT_MAX);
        }
    }
}

static void a_lost_copy_is_found(void **state)
{
    uint8_t *bytes = (uint8_t *)place;

    (void)state;
    for (unsigned copy = 0; copy < 2; copy++) {
        for (int value = 0; value < 256; value += 85) {
            clear(NULL);
            expect_cold(KEPT_EMPTY);
            write_bytes(1, CONTENT_MAX);
            write_bytes(2, CONTENT_MAX);
            memset(bytes + copy * COPY_BYTES, value, COPY_BYTES);
            assert_int_equal(open_record(), KEPT_PERHAPS_OLDER);
            expect_content(copy == 1 ? 1 : 2, CONTENT_MAX);
            memset(place, value, sizeof(place));
            expect_cold(value == 0 ? KEPT_EMPTY : KEPT_DAMAGED);
        }
    }
    /* Both copies have the same number. */
    clear(NULL);
    expect_cold(KEPT_EMPTY);
    write_bytes(1, CONTENT_MAX);
    memcpy(bytes + COPY_BYTES, bytes, COPY_BYTES);
    assert_int_equal(open_record(), KEPT_PERHAPS_OLDER);
    expect_content(1, CONTENT_MAX);
}

static void expect_cold_for(const struct kept_format *other, enum kept_start start)
{
    assert_int_equal(kept_read(place, other, content, &length), start);
    expect_content(0, 0);
    assert_int_equal(kept_open_at(&record, place, other, content, &length), start);
    expect_content(0, 0);
    assert_int_equal(kept_read(place, other, content, &length), KEPT_EMPTY);
}

static void records_of_others_are_not_restored(void **state)
{
    static const struct kept_format others[] = {
        {"type", 8, 1, CONTENT_MAX},  {"both", 8, 2, CONTENT_MAX}, {"version", 7, 2, CONTENT_MAX},
        {"smaller version", 7, 2, 8}, {"smaller", 7, 1, 8},
    };
    static const enum kept_start starts[] = {KEPT_OTHER_TYPE, KEPT_OTHER_TYPE, KEPT_OTHER_VERSION,
                                             KEPT_OTHER_VERSION, KEPT_DAMAGED};

    (void)state;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        clear(NULL);
        expect_cold(KEPT_EMPTY);
        write_bytes(1, CONTENT_MAX);
        write_bytes(2, CONTENT_MAX);
        write_bytes(3, CONTENT_MAX);
        expect_cold_for(&others[i], starts[i]);
        assert_true(kept_write(&record, content, 4));
        assert_int_equal(kept_read(place, &others[i], content, &length), KEPT_RESTORED);
    }
}

/* The life that finds another version ends while it erases the record. */
static void an_erasure_that_ends_early_restores_nothing_of_others(void **state)
{
    const struct kept_format other = {"version", 7, 2, CONTENT_MAX};
    enum kept_start start;

    (void)state;
    for (uint64_t stores = 0; stores < 3; stores++) {
        for (unsigned writes = 1; writes < 4; writes++) {
            clear(NULL);
            expect_cold(KEPT_EMPTY);
            for (unsigned i = 0; i < writes; i++) {
                write_bytes(1, CONTENT_MAX);
            }
            open_until(&other, stores);
            start = kept_open_at(&record, place, &other, content, &length);
            assert_false(kept_is_restored(start));
            assert_true(kept_write(&record, content, 4));
            assert_int_equal(kept_read(place, &other, content, &length), KEPT_RESTORED);
        }
    }
}

/* A malicious life wrote a record as it should, with a number of its own. */
static void numbers_begin_again(void **state)
{
    const uint64_t number_max = UINT64_MAX >> 2;

    (void)state;
    for (unsigned below = 0; below < 4; below++) {
        clear(NULL);
        expect_cold(KEPT_EMPTY);
        write_bytes(1, CONTENT_MAX);
        record.number = number_max - below;
        for (uint8_t i = 2; i < 8; i++) {
            write_bytes(i, CONTENT_MAX);
            if (i > 2) { /* before, the copies are those of different lives */
                assert_false(write_until(9, CONTENT_MAX, i));
                expect_restored(i, CONTENT_MAX);
            }
        }
    }
}

/* Returns a number below the bound, the same ones in each run (Numerical Recipes, 7.1.1). */
static unsigned draw(unsigned bound)
{
    static uint32_t number = 1;

    number = number * 1664525u + 1013904223u;
    return (number >> 16) % bound;
}

/* Lives that end anywhere, and write any lengths. */
static void many_lives(void **state)
{
    uint8_t value = 0;
    size_t bytes = 0;

    (void)state;
    expect_cold(KEPT_EMPTY);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t next = (uint8_t)(i % 255 + 1);
        size_t next_bytes = draw(CONTENT_MAX + 1);

        if (write_until(next, next_bytes, draw(2 * STORES))) {
            value = next;
            bytes = next_bytes;
        } else if (value == 0) {
            expect_cold(KEPT_EMPTY);
        } else {
            expect_restored(value, bytes);
        }
    }
}

static void each_state_has_a_text(void **state)
{
    (void)state;
    for (int i = -1; i <= KEPT_NOWHERE + 1; i++) {
        assert_true(strlen(kept_start_text((enum kept_start)i)) > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_last_content_is_restored, clear),
        cmocka_unit_test_setup(a_content_that_is_too_large_is_refused, clear),
        cmocka_unit_test_setup(a_write_that_ends_early_changes_nothing, clear),
        cmocka_unit_test_setup(a_first_write_that_ends_early_leaves_nothing, clear),
        cmocka_unit_test_setup(each_damaged_bit_is_found, clear),
        cmocka_unit_test_setup(each_damaged_bit_of_a_first_write_is_found, clear),
        cmocka_unit_test_setup(a_lost_copy_is_found, clear),
        cmocka_unit_test_setup(records_of_others_are_not_restored, clear),
        cmocka_unit_test_setup(an_erasure_that_ends_early_restores_nothing_of_others, clear),
        cmocka_unit_test_setup(numbers_begin_again, clear),
        cmocka_unit_test_setup(many_lives, clear),
        cmocka_unit_test(each_state_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
