/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest value: always complete, never of a slot that the reader reads; hostile writers. */
#include "channel/value.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES PAIR_RING_BYTES

struct fixture {
    struct pair pair;
    struct value_writer writer;
    struct value_reader reader;
};

static void begin_writer(struct fixture *fixture)
{
    assert_true(value_writer_begin(&fixture->writer, fixture->pair.sections[0],
                                   &fixture->pair.sections[1]->control, BYTES));
}

static void begin_reader(struct fixture *fixture)
{
    assert_true(value_reader_begin(&fixture->reader, fixture->pair.sections[0],
                                   &fixture->pair.sections[1]->control, BYTES));
}

static int set_up(void **state)
{
    static struct fixture fixture;

    pair_create(&fixture.pair);
    begin_writer(&fixture);
    begin_reader(&fixture);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pair_destroy(&fixture->pair);
    return 0;
}

static bool put(struct fixture *fixture, uint64_t length, uint8_t fill)
{
    uint8_t *place = value_write_begin(&fixture->writer);

    assert_int_equal((uintptr_t)place % 8, 0);
    memset(place, fill, (size_t)length);
    return value_write_end(&fixture->writer, length);
}

static const uint8_t *take(struct fixture *fixture, uint64_t expected, uint8_t fill)
{
    uint64_t length = 0;
    const uint8_t *content = value_read(&fixture->reader, &length);

    assert_non_null(content);
    assert_int_equal(length, expected);
    for (uint64_t i = 0; i < length; i++) {
        assert_int_equal(content[i], fill);
    }
    return content;
}

static void test_there_is_no_value_before_the_first(void **state)
{
    struct fixture *fixture = *state;
    uint64_t length;

    assert_null(value_read(&fixture->reader, &length));
    assert_false(value_is_new(&fixture->reader));
    assert_int_equal(fixture->reader.error.kind, CHANNEL_ERROR_NONE);
}

static void test_the_newest_value_is_read_again_and_again(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned i = 1; i < 100; i++) {
        for (unsigned j = 0; j < i % 5 + 1; j++) {
            put(fixture, value_content_max(BYTES) - i, (uint8_t)(i + j));
        }
        assert_true(value_is_new(&fixture->reader));
        take(fixture, value_content_max(BYTES) - i, (uint8_t)(i + i % 5));
        assert_false(value_is_new(&fixture->reader));
        take(fixture, value_content_max(BYTES) - i, (uint8_t)(i + i % 5));
    }
}

/* However many values are written, the one that was read stays as it is. */
static void test_a_value_in_use_is_not_overwritten(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned before = 1; before < 6; before++) {
        const uint8_t *content;

        for (unsigned i = 0; i < before; i++) {
            put(fixture, 100, (uint8_t)before);
        }
        content = take(fixture, 100, (uint8_t)before);
        for (unsigned i = 0; i < 9; i++) {
            put(fixture, 100, 0xee);
            for (unsigned byte = 0; byte < 100; byte++) {
                assert_int_equal(content[byte], before);
            }
        }
        take(fixture, 100, 0xee);
    }
}

static void test_the_value_remains_when_its_writer_begins_anew(void **state)
{
    struct fixture *fixture = *state;
    const uint8_t *content;

    put(fixture, 8, 1);
    put(fixture, 8, 2);
    content = take(fixture, 8, 2);
    begin_writer(fixture);
    take(fixture, 8, 2);
    put(fixture, 8, 3);
    assert_int_equal(content[0], 2);
    begin_reader(fixture);
    take(fixture, 8, 3);
}

static void test_a_reader_that_waits_is_notified(void **state)
{
    struct fixture *fixture = *state;

    assert_false(put(fixture, 8, 1));
    fixture->pair.sections[1]->control.waits = CHANNEL_WAITS_FOR_MESSAGE;
    assert_true(put(fixture, 8, 2));
}

static void test_lengths_and_formats_are_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t wrong = value_content_max(BYTES) + 1;
    uint64_t length;

    put(fixture, 8, 1);
    for (unsigned slot = 0; slot < 4; slot++) {
        memcpy(&fixture->pair.sections[0]->ring[slot * BYTES / 4], &wrong, 8);
    }
    assert_null(value_read(&fixture->reader, &length));
    assert_int_equal(fixture->reader.error.kind, CHANNEL_ERROR_LENGTH);
    assert_int_equal(fixture->reader.error.value, wrong);
    put(fixture, 8, 1);
    assert_null(value_read(&fixture->reader, &length));
    begin_reader(fixture);
    fixture->pair.sections[0]->control.format = CHANNEL_FORMAT_MESSAGES;
    assert_null(value_read(&fixture->reader, &length));
    assert_int_equal(fixture->reader.error.kind, CHANNEL_ERROR_FORMAT);
}

/* Whatever a malicious side writes to its words, the other stays within the ring. */
static void test_every_word_can_have_any_value(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *writer = &fixture->pair.sections[0]->control;

    for (uint64_t i = 0; i < 64; i++) {
        uint64_t length;

        fixture->pair.sections[1]->control.reading = UINT64_MAX << i;
        put(fixture, value_content_max(BYTES), 1);
        writer->latest = UINT64_MAX << i;
        writer->newest[0] = UINT64_MAX >> i;
        writer->newest[1] = UINT64_MAX << i;
        writer->produced = UINT64_MAX << i;
        if (value_read(&fixture->reader, &length) != NULL) {
            assert_true(length <= value_content_max(BYTES));
        }
        begin_writer(fixture);
        put(fixture, value_content_max(BYTES), 1);
    }
}

/* A malicious life may give its value any number, and the next life goes on with its own. */
static void test_values_after_a_malicious_life_are_new(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t numbers[] = {UINT64_MAX, UINT64_C(1) << 63, 1000};

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        put(fixture, 8, 1);
        for (unsigned slot = 0; slot < 4; slot++) {
            memcpy(&fixture->pair.sections[0]->ring[slot * BYTES / 4 + 8], &numbers[i], 8);
        }
        take(fixture, 8, 1);
        begin_writer(fixture);
        put(fixture, 8, 2);
        assert_true(value_is_new(&fixture->reader));
        take(fixture, 8, 2);
        assert_false(value_is_new(&fixture->reader));
    }
    fixture->pair.sections[0]->control.produced = UINT64_MAX;
    begin_writer(fixture);
    put(fixture, 8, 3);
    take(fixture, 8, 3);
}

/* Leaves the numbers `produced` and `number`, the one of the value that is read last. Then the next
 * life writes a value. */
static void try_numbers(struct fixture *fixture, uint64_t produced, uint64_t number)
{
    put(fixture, 8, 1);
    for (unsigned slot = 0; slot < 4; slot++) {
        memcpy(&fixture->pair.sections[0]->ring[slot * BYTES / 4 + 8], &number, 8);
    }
    take(fixture, 8, 1);
    for (unsigned slot = 0; slot < 4; slot++) {
        memset(&fixture->pair.sections[0]->ring[slot * BYTES / 4 + 8], 0, 8);
    }
    fixture->pair.sections[0]->control.produced = produced;
    begin_writer(fixture);
    put(fixture, 8, 2);
    assert_true(value_is_new(&fixture->reader));
    take(fixture, 8, 2);
    assert_false(value_is_new(&fixture->reader));
}

/* Whatever number a malicious life had, and whatever it leaves: the reader sees the first value of
 * the next life. */
static void test_the_first_value_after_a_malicious_life_is_new(void **state)
{
    for (uint64_t produced = 1; produced < 6; produced++) {
        for (uint64_t number = 0; number < 10; number++) {
            try_numbers(*state, produced, number);
        }
    }
}

/* Whoever waits for a value that value_read() does not return would wait in vain, again and again.
 */
static void test_there_is_no_new_value_without_a_format(void **state)
{
    struct fixture *fixture = *state;
    uint64_t length;

    put(fixture, 8, 1);
    fixture->pair.sections[0]->control.format = 0;
    assert_null(value_read(&fixture->reader, &length));
    assert_false(value_is_new(&fixture->reader));
}

/* The writer's section may be cleared after values were read. */
static void test_there_is_no_new_value_before_the_first_of_a_cleared_section(void **state)
{
    struct fixture *fixture = *state;
    uint64_t length;

    for (unsigned i = 0; i < 3; i++) {
        put(fixture, 8, 1);
    }
    take(fixture, 8, 1);
    memset(fixture->pair.sections[0], 0, sizeof(*fixture->pair.sections[0]));
    begin_writer(fixture);
    assert_null(value_read(&fixture->reader, &length));
    assert_false(value_is_new(&fixture->reader));
    put(fixture, 8, 2);
    assert_true(value_is_new(&fixture->reader));
    take(fixture, 8, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_there_is_no_value_before_the_first),
        TEST(test_the_newest_value_is_read_again_and_again),
        TEST(test_a_value_in_use_is_not_overwritten),
        TEST(test_the_value_remains_when_its_writer_begins_anew),
        TEST(test_a_reader_that_waits_is_notified),
        TEST(test_lengths_and_formats_are_checked),
        TEST(test_every_word_can_have_any_value),
        TEST(test_values_after_a_malicious_life_are_new),
        TEST(test_the_first_value_after_a_malicious_life_is_new),
        TEST(test_there_is_no_new_value_without_a_format),
        TEST(test_there_is_no_new_value_before_the_first_of_a_cleared_section),
    };

    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
