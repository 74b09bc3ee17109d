/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store of connections in kept memory: lives that end before each store to a record, each
 * flipped bit of a record, contents that a malicious life wrote as they should be, rings that
 * wrap, and slots of another version.
 */
#include "connection/store.h"
#include "ended_life.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STORES 64u /* more than a write of a record has */

static uint8_t *place;
static struct store_slot slot;
static const char *reason;

static int clear(void **state)
{
    (void)state;
    free(place);
    place = aligned_alloc(KEPT_ALIGNMENT, store_slot_bytes());
    assert_non_null(place);
    memset(place, 0, store_slot_bytes());
    stores_left = ENDLESS;
    reason = NULL;
    return 0;
}

static int release(void **state)
{
    (void)state;
    free(place);
    place = NULL;
    return 0;
}

static const struct store_content fresh = {
    .local_port = 80,
    .remote_port = 5000,
    .segment_bytes = 1460,
    .flags = STORE_OPEN,
    .send_first = 0xfffffff0,
    .receive_first = 0xffffff00,
    .received = 0xffffff00,
    .consumed = 0xffffff00,
    .written = 0xfffffff0,
    .acknowledged = 0xfffffff0,
};

static void begin(void)
{
    assert_int_equal(store_open(&slot, place, &reason), STORE_EMPTY);
    slot.content = fresh;
    slot.state_bytes = 0;
    store_write(&slot);
}

static void begin_again(void)
{
    store_erase(&slot);
    begin();
}

static enum store_found open_again(void)
{
    return store_open(&slot, place, &reason);
}

static void a_slot_is_restored(void **state)
{
    static const char text[] = "a request";
    char back[sizeof(text)];

    (void)state;
    begin();
    store_receive(&slot, text, sizeof(text));
    memcpy(slot.content.state, "state", 5);
    slot.state_bytes = 5;
    store_write(&slot);
    assert_int_equal(open_again(), STORE_CONNECTION);
    assert_int_equal(slot.state_bytes, 5);
    assert_memory_equal(slot.content.state, "state", 5);
    assert_int_equal(store_peek(&slot, slot.content.consumed, back, 100), sizeof(text));
    assert_string_equal(back, text);
    store_erase(&slot);
    assert_int_equal(open_again(), STORE_EMPTY);
}

/* A life that failed may have left anything in the record of a connection that was not open yet. */
static void a_half_open_connection_has_no_bytes(void **state)
{
    static const struct {
        uint8_t flags;
        uint32_t received, written, acknowledged;
    } faults[] = {{0, 1, 0, 0},
                  {0, 0, 1, 0},
                  {0, 0, 1, 1},
                  {STORE_ENDED, 0, 0, 0},
                  {STORE_CLOSED, 0, 0, 0},
                  {STORE_ENDED | STORE_CLOSED | STORE_WAITING, 0, 0, 0}};

    (void)state;
    begin();
    slot.content.flags = 0;
    store_write(&slot);
    assert_int_equal(open_again(), STORE_CONNECTION);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        begin_again();
        slot.content.flags = faults[i].flags;
        slot.content.received += faults[i].received;
        slot.content.written += faults[i].written;
        slot.content.acknowledged += faults[i].acknowledged;
        store_write(&slot);
        assert_int_equal(open_again(), STORE_BROKEN);
    }
}

/* Both rings, past their ends and past sequence number 0. */
static void rings_wrap(void **state)
{
    uint8_t in[700], out[700];
    uint32_t at = fresh.written;

    (void)state;
    begin();
    for (unsigned i = 0; i < 200; i++) {
        memset(in, (int)(i + 1), sizeof(in));
        store_receive(&slot, in, sizeof(in));
        store_send(&slot, at, in, sizeof(in));
        slot.content.written += (uint32_t)sizeof(in);
        assert_int_equal(store_receive_room(&slot), CONNECTION_RECEIVE_BYTES - sizeof(in));
        store_write(&slot);
        assert_int_equal(open_again(), STORE_CONNECTION);
        assert_int_equal(store_peek(&slot, slot.content.consumed, out, sizeof(out)), sizeof(out));
        assert_memory_equal(in, out, sizeof(in));
        while (at != slot.content.written) {
            size_t bytes;
            const uint8_t *data = store_sent(&slot, at, &bytes);

            assert_in_range(bytes, 1, sizeof(in));
            assert_memory_equal(data, in, bytes);
            at += (uint32_t)bytes;
        }
        slot.content.consumed = slot.content.received;
        slot.content.acknowledged = slot.content.written;
        store_write(&slot);
    }
}

/* Answers a request, but ends the life before the store of number `stores`. Returns true if the
 * commit was completed before. */
static bool answer_until(uint64_t stores)
{
    volatile bool is_complete = false;

    if (setjmp(life_end) == 0) {
        stores_left = stores;
        slot.content.consumed += 7;
        store_send(&slot, slot.content.written, "answer", 6);
        slot.content.written += 6;
        memcpy(slot.content.state, "done", 4);
        slot.state_bytes = 4;
        store_write(&slot);
        is_complete = true;
    }
    stores_left = ENDLESS;
    return is_complete;
}

/* The life after one that ended during a commit finds all of it, or nothing. */
static void a_commit_is_whole(void **state)
{
    (void)state;
    for (uint64_t stores = 0; stores < STORES; stores++) {
        bool is_complete;

        clear(NULL);
        begin();
        store_receive(&slot, "request", 7);
        store_write(&slot);
        is_complete = answer_until(stores);
        assert_int_equal(open_again(), STORE_CONNECTION);
        assert_int_equal(slot.content.received - slot.content.consumed, is_complete ? 0 : 7);
        assert_int_equal(slot.content.written - fresh.written, is_complete ? 6 : 0);
        assert_int_equal(slot.state_bytes, is_complete ? 4 : 0);
    }
}

static void each_flipped_bit_is_found(void **state)
{
    size_t bits = 8 * kept_record_bytes(sizeof(struct store_content));
    unsigned broken = 0;

    (void)state;
    for (size_t bit = 0; bit < bits; bit++) {
        struct store_content written;

        clear(NULL);
        begin();
        slot.content.received += 5;
        store_write(&slot);
        written = slot.content;
        place[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (open_again() == STORE_CONNECTION) {
            assert_memory_equal(&slot.content, &written, sizeof(written));
        } else {
            assert_non_null(reason);
            assert_int_equal(open_again(), STORE_EMPTY);
            broken++;
        }
    }
    assert_true(broken > bits / 4);
}

struct wrong {
    size_t offset;
    size_t bytes;
    uint64_t value;
};

#define WRONG(member, wrong_value)                                                           \
    {offsetof(struct store_content, member), sizeof(((struct store_content *)NULL)->member), \
     (wrong_value)}

static void wrong_contents_are_dropped(void **state)
{
    static const struct wrong wrongs[] = {
        WRONG(flags, 64),
        WRONG(flags, STORE_OPEN | STORE_WAITING),
        WRONG(local_port, 0),
        WRONG(remote_port, 0),
        WRONG(segment_bytes, 0),
        WRONG(scale, 15),
        WRONG(scale, 1), /* without STORE_SCALED */
        WRONG(reserved, 1),
        WRONG(received, 0xffffff00u + CONNECTION_RECEIVE_BYTES + 1),
        WRONG(consumed, 0xffffff01u),
        WRONG(written, 0xfffffff0u + CONNECTION_SEND_BYTES + 1),
        WRONG(acknowledged, 0xfffffff1u),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        clear(NULL);
        begin();
        memcpy((uint8_t *)&slot.content + wrongs[i].offset, &wrongs[i].value, wrongs[i].bytes);
        store_write(&slot);
        assert_int_equal(open_again(), STORE_BROKEN);
        assert_non_null(reason);
        assert_int_equal(open_again(), STORE_EMPTY);
    }
    clear(NULL);
    begin();
    assert_true(kept_write(&slot.record, &slot.content, 8)); /* too short */
    assert_int_equal(open_again(), STORE_BROKEN);
}

static void slots_of_others_are_dropped(void **state)
{
    struct kept_format other = {"other", 0x70637463, 7, sizeof(struct store_content)};
    struct kept_record record;
    struct store_content content = fresh;
    size_t bytes;

    (void)state;
    (void)kept_open_at(&record, place, &other, &content, &bytes);
    content = fresh;
    assert_true(kept_write(&record, &content, sizeof(content)));
    assert_int_equal(open_again(), STORE_BROKEN);
    assert_string_equal(reason, "of another version");
    memset(place, 0x5a, store_slot_bytes());
    assert_int_equal(open_again(), STORE_BROKEN);
    assert_int_equal(open_again(), STORE_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slot_is_restored, clear, release),
        cmocka_unit_test_setup_teardown(a_half_open_connection_has_no_bytes, clear, release),
        cmocka_unit_test_setup_teardown(rings_wrap, clear, release),
        cmocka_unit_test_setup_teardown(a_commit_is_whole, clear, release),
        cmocka_unit_test_setup_teardown(each_flipped_bit_is_found, clear, release),
        cmocka_unit_test_setup_teardown(wrong_contents_are_dropped, clear, release),
        cmocka_unit_test_setup_teardown(slots_of_others_are_dropped, clear, release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
