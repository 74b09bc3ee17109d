/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches: several messages that are published, or released, at once. */
#include "channel/batch.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES PAIR_RING_BYTES

/* Bytes in the ring of a message of 8 bytes. */
#define SMALL UINT64_C(16)

/* Messages of the largest batch of such messages: half the ring. */
#define LARGEST (BYTES / 2 / SMALL)

static void add(struct send_batch *batch, uint64_t number)
{
    uint8_t *place = send_batch_reserve(batch, sizeof(number));

    assert_non_null(place);
    assert_int_equal((uintptr_t)place % 8, 0);
    memcpy(place, &number, sizeof(number));
    send_batch_commit(batch, sizeof(number), (uint32_t)number);
}

/* Sends up to `count` messages in one batch. Returns how many. */
static uint64_t send_numbers(struct channel *channel, uint64_t first, uint64_t count)
{
    struct send_batch batch = channel_send_batch_begin(channel, sizeof(first));

    while (batch.count < count && send_batch_reserve(&batch, sizeof(first)) != NULL) {
        add(&batch, first + batch.count);
    }
    channel_send_batch_end(channel, &batch);
    return batch.count;
}

/* Receives one batch, of numbers from `first`. Returns how many. */
static uint64_t receive_numbers(struct channel *channel, uint64_t first)
{
    struct receive_batch batch = channel_receive_batch_begin(channel);
    const uint8_t *content;
    uint64_t length = 0;
    uint32_t tag = 0;

    while ((content = receive_batch_next(&batch, &length, &tag)) != NULL) {
        uint64_t number;

        memcpy(&number, content, sizeof(number));
        assert_int_equal(number, first);
        assert_int_equal(tag, (uint32_t)first);
        assert_int_equal(length, 8);
        first++;
    }
    channel_receive_batch_end(channel, &batch);
    return batch.count;
}

static void test_a_batch_is_seen_at_its_end(void **state)
{
    struct pair_fixture *fixture = *state;
    struct send_batch batch = channel_send_batch_begin(fixture->sender, 8);

    add(&batch, 1);
    add(&batch, 2);
    pair_expect_nothing(fixture->receiver);
    channel_send_batch_end(fixture->sender, &batch);
    pair_expect(fixture->receiver, 1);
    pair_expect(fixture->receiver, 2);
    pair_expect_nothing(fixture->receiver);
    assert_int_equal(fixture->pair.sections[0]->control.sent, 2);
}

static void test_space_is_free_at_the_end_of_a_batch(void **state)
{
    struct pair_fixture *fixture = *state;
    uint64_t count = send_numbers(fixture->sender, 0, BYTES);
    struct receive_batch batch;
    uint64_t length;
    uint32_t tag;

    assert_int_equal(count, LARGEST);
    count += send_numbers(fixture->sender, count, BYTES);
    assert_int_equal(count, 2 * LARGEST);
    batch = channel_receive_batch_begin(fixture->receiver);
    assert_non_null(receive_batch_next(&batch, &length, &tag));
    assert_non_null(receive_batch_next(&batch, &length, &tag));
    assert_int_equal(send_numbers(fixture->sender, count, BYTES), 0);
    channel_receive_batch_end(fixture->receiver, &batch);
    assert_int_equal(fixture->pair.sections[1]->control.received, 2);
    assert_int_equal(send_numbers(fixture->sender, count, BYTES), 2);
    pair_expect(fixture->receiver, 2);
}

/* A batch of one or the other side, and single messages, in any order and from any position. */
static void test_mixed_traffic(void **state)
{
    struct pair_fixture *fixture = *state;
    uint64_t random = 88172645463325252u;
    uint64_t sent = 0;
    uint64_t received = 0;

    for (unsigned i = 0; i < 100000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        switch (random % 4) {
        case 0:
            sent += send_numbers(fixture->sender, sent, random / 4 % 64);
            break;
        case 1:
            sent += pair_send(fixture->sender, sent) ? 1 : 0;
            break;
        case 2:
            received += receive_numbers(fixture->receiver, received);
            break;
        default:
            if (received < sent) {
                pair_expect(fixture->receiver, received);
                received++;
            }
        }
    }
    assert_true(sent > 10000);
    while (received < sent) {
        uint64_t count = receive_numbers(fixture->receiver, received);

        assert_int_not_equal(count, 0);
        received += count;
    }
    assert_int_equal(fixture->pair.sections[0]->control.sent, sent);
    assert_int_equal(fixture->pair.sections[1]->control.received, received);
}

/* Messages of different sizes reach the end of the ring at each distance from it. */
static void test_batches_end_at_the_rings_end(void **state)
{
    struct pair_fixture *fixture = *state;

    for (uint64_t i = 0; i < 4 * BYTES; i++) {
        /* No message has the last one: it is beyond what was sent. */
        uint64_t lengths[4] = {i % 40, 600 + i % 7, 0, UINT64_MAX};
        struct receive_batch in;
        unsigned sent = 0;
        unsigned received = 0;

        while (sent < 3) {
            struct send_batch out = channel_send_batch_begin(fixture->sender, lengths[sent]);
            uint8_t *place;

            while (sent < 3 && (place = send_batch_reserve(&out, lengths[sent])) != NULL) {
                memset(place, (int)sent, (size_t)lengths[sent]);
                send_batch_commit(&out, lengths[sent], sent);
                sent++;
            }
            assert_int_not_equal(out.count, 0);
            channel_send_batch_end(fixture->sender, &out);
        }
        while (received < 3) {
            const uint8_t *content;
            uint64_t length = 0;
            uint32_t tag = 0;

            in = channel_receive_batch_begin(fixture->receiver);
            while ((content = receive_batch_next(&in, &length, &tag)) != NULL) {
                assert_int_equal(tag, received);
                assert_int_equal(length, lengths[received]);
                assert_true(length == 0 || content[length - 1] == received);
                received++;
            }
            assert_int_not_equal(in.count, 0);
            channel_receive_batch_end(fixture->receiver, &in);
        }
    }
}

static void test_a_batch_without_messages_changes_nothing(void **state)
{
    struct pair_fixture *fixture = *state;
    struct send_batch out = channel_send_batch_begin(fixture->sender, 8);
    struct receive_batch in = channel_receive_batch_begin(fixture->receiver);
    uint64_t length;
    uint32_t tag;

    assert_null(receive_batch_next(&in, &length, &tag));
    assert_null(send_batch_reserve(&out, UINT64_MAX));
    assert_null(send_batch_reserve(&out, channel_content_max(BYTES) + 1));
    assert_non_null(send_batch_reserve(&out, channel_content_max(BYTES)));
    channel_send_batch_end(fixture->sender, &out);
    channel_receive_batch_end(fixture->receiver, &in);
    out = channel_send_batch_begin(fixture->sender, BYTES);
    assert_null(send_batch_reserve(&out, 0));
    channel_send_batch_end(fixture->sender, &out);
    assert_true(pair_send(fixture->sender, 1));
    in = channel_receive_batch_begin(fixture->receiver);
    channel_receive_batch_end(fixture->receiver, &in);
    pair_expect(fixture->receiver, 1);
}

static void test_a_waiting_peer_is_notified_once(void **state)
{
    struct pair_fixture *fixture = *state;
    unsigned bells = fixture->pair.bells[1];

    word_store(&fixture->pair.sections[1]->control.waits, CHANNEL_WAITS_FOR_MESSAGE);
    assert_int_equal(send_numbers(fixture->sender, 0, BYTES), LARGEST);
    assert_int_equal(fixture->pair.bells[1], bells + 1);
    bells = fixture->pair.bells[0];
    word_store(&fixture->pair.sections[0]->control.waits, CHANNEL_WAITS_FOR_SPACE);
    assert_int_equal(receive_numbers(fixture->receiver, 0), LARGEST);
    assert_int_equal(fixture->pair.bells[0], bells + 1);
}

/* An invalid header is never part of a batch, and the next batch finds the error. */
static void test_an_invalid_length_is_an_error(void **state)
{
    struct pair_fixture *fixture = *state;
    struct receive_batch batch;
    uint64_t length;
    uint32_t tag;

    assert_int_equal(send_numbers(fixture->sender, 0, 3), 3);
    word_store(channel_word(&fixture->pair.sections[0]->ring[SMALL]), 3 * SMALL);
    batch = channel_receive_batch_begin(fixture->receiver);
    assert_non_null(receive_batch_next(&batch, &length, &tag));
    assert_null(receive_batch_next(&batch, &length, &tag));
    channel_receive_batch_end(fixture->receiver, &batch);
    assert_int_equal(fixture->receiver->state, CHANNEL_CONNECTED);
    batch = channel_receive_batch_begin(fixture->receiver);
    assert_null(receive_batch_next(&batch, &length, &tag));
    assert_int_equal(fixture->receiver->state, CHANNEL_FAILED);
    assert_int_equal(fixture->receiver->error.kind, CHANNEL_ERROR_LENGTH);
}

/* Also a message behind the first one of a batch has at most the largest length. */
static void test_no_message_is_larger_than_the_largest(void **state)
{
    struct pair_fixture *fixture = *state;
    struct section *section = fixture->pair.sections[0];
    struct receive_batch batch;
    uint64_t length;
    uint32_t tag;

    word_store(channel_word(&section->ring[0]), 0);
    word_store(channel_word(&section->ring[8]), BYTES - 24);
    section->control.produced = BYTES - 8;
    batch = channel_receive_batch_begin(fixture->receiver);
    assert_non_null(receive_batch_next(&batch, &length, &tag));
    assert_int_equal(length, 0);
    assert_null(receive_batch_next(&batch, &length, &tag));
    channel_receive_batch_end(fixture->receiver, &batch);
    batch = channel_receive_batch_begin(fixture->receiver);
    assert_int_equal(batch.count, 0);
    assert_int_equal(fixture->receiver->error.kind, CHANNEL_ERROR_LENGTH);
    assert_int_equal(fixture->receiver->error.value, BYTES - 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_batch_is_seen_at_its_end, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_space_is_free_at_the_end_of_a_batch, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_mixed_traffic, pair_set_up, pair_tear_down),
        cmocka_unit_test_setup_teardown(test_batches_end_at_the_rings_end, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_batch_without_messages_changes_nothing, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_waiting_peer_is_notified_once, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_an_invalid_length_is_an_error, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_no_message_is_larger_than_the_largest, pair_set_up,
                                        pair_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
