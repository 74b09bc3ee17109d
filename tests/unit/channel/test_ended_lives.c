/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of writers of values, and of senders of one-way channels, that end before any of their
 * stores. A sender that pauses there looks the same to its receivers.
 */
#include "channel/broadcast.h"
#include "channel/value.h"
#include "ended_life.h"
#include "pair.h"
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES     PAIR_RING_BYTES
#define STORES    12u /* more than a life's beginning and one value have */
#define RECEIVERS 4u

struct values {
    struct section *writer_section;
    struct section *reader_section;
    struct value_writer writer;
    struct value_reader reader;
};

static void begin_and_write(struct values *values, uint64_t value)
{
    assert_true(value_writer_begin(&values->writer, values->writer_section,
                                   &values->reader_section->control, BYTES));
    memcpy(value_write_begin(&values->writer), &value, sizeof(value));
    value_write_end(&values->writer, sizeof(value));
}

/* Begins a life and writes a value, but ends before the store of number `stores`. */
static void write_until(struct values *values, uint64_t value, uint64_t stores)
{
    if (setjmp(life_end) == 0) {
        stores_left = stores;
        begin_and_write(values, value);
    }
    stores_left = ENDLESS;
}

/* Returns 0 if there is no value. */
static uint64_t read_value(struct values *values)
{
    uint64_t length;
    const uint8_t *content = value_read(&values->reader, &length);
    uint64_t value = 0;

    assert_int_equal(values->reader.error.kind, CHANNEL_ERROR_NONE);
    if (content != NULL) {
        assert_int_equal(length, sizeof(value));
        memcpy(&value, content, sizeof(value));
    }
    return value;
}

/* Two lives end. `reads`: bits that tell after which values the reader reads. */
static void try_values(struct pair *pair, uint64_t first, uint64_t second, unsigned reads)
{
    struct values values = {pair->sections[0], pair->sections[1], {0}, {0}};
    const uint64_t stores[] = {ENDLESS, first, second};

    memset(pair->sections[0], 0, sizeof(struct section));
    memset(pair->sections[1], 0, sizeof(struct section));
    assert_true(value_reader_begin(&values.reader, values.writer_section,
                                   &values.reader_section->control, BYTES));
    for (unsigned i = 0; i < 3; i++) {
        write_until(&values, i + 1, stores[i]);
        if ((reads >> i & 1) != 0) {
            uint64_t value = read_value(&values);

            assert_in_range(value, 1, i + 1);
            assert_false(value_is_new(&values.reader));
            assert_int_equal(read_value(&values), value);
        }
    }
    begin_and_write(&values, 4);
    assert_true(value_is_new(&values.reader));
    assert_int_equal(read_value(&values), 4);
    assert_false(value_is_new(&values.reader));
}

static void test_the_next_value_is_new(void **state)
{
    struct pair pair;

    (void)state;
    pair_create(&pair);
    for (uint64_t first = 0; first < STORES; first++) {
        for (uint64_t second = 0; second < STORES; second++) {
            for (unsigned reads = 0; reads < 8; reads++) {
                try_values(&pair, first, second, reads);
            }
        }
    }
    pair_destroy(&pair);
}

struct listener {
    struct broadcast_receiver receiver;
    uint64_t first;    /* content of the message that was received first; 0: none yet */
    uint64_t newest;   /* of the one that was received last */
    uint64_t received; /* messages */
};

/* The content of a message is how many were published, with itself. */
struct broadcasts {
    struct section *section;
    struct broadcast_sender sender;
    uint64_t published;
    uint64_t newest; /* where the newest message begins */
    struct listener listeners[RECEIVERS];
    uint64_t random;
};

static uint64_t next_random(struct broadcasts *broadcasts)
{
    broadcasts->random ^= broadcasts->random << 13;
    broadcasts->random ^= broadcasts->random >> 7;
    broadcasts->random ^= broadcasts->random << 17;
    return broadcasts->random >> 16;
}

static bool listen(struct listener *listener)
{
    static uint64_t buffer[BYTES / 16];
    uint64_t length;
    uint32_t tag;
    enum broadcast_result result =
        broadcast_receive(&listener->receiver, buffer, sizeof(buffer), &length, &tag);

    if (result == BROADCAST_NONE) {
        return false;
    }
    assert_int_equal(result, BROADCAST_RECEIVED);
    assert_true(buffer[0] > listener->newest);
    listener->newest = buffer[0];
    listener->first = listener->first == 0 ? buffer[0] : listener->first;
    listener->received++;
    assert_int_equal(listener->receiver.lost,
                     listener->newest - listener->first + 1 - listener->received);
    return true;
}

/* A receiver gets all messages that are there, and then none is new. */
static void listen_to_all(const struct broadcasts *broadcasts, struct listener *listener)
{
    while (listen(listener)) {
    }
    assert_false(broadcast_is_new(&listener->receiver));
    if (broadcasts->section->control.overwritten <= broadcasts->newest) {
        assert_int_equal(listener->newest, broadcasts->published);
    }
}

static void begin_listener(const struct broadcasts *broadcasts, struct listener *listener)
{
    *listener = (struct listener){0};
    assert_true(broadcast_receiver_begin(&listener->receiver, broadcasts->section, BYTES, true));
}

/* Small and large ones. */
static uint64_t choose_length(struct broadcasts *broadcasts)
{
    const uint64_t lengths[] = {8, 8 + next_random(broadcasts) % 200, broadcast_content_max(BYTES),
                                broadcast_content_max(BYTES) - next_random(broadcasts) % 100};

    return lengths[next_random(broadcasts) % 4];
}

static void send(struct broadcasts *broadcasts)
{
    uint64_t reserved = choose_length(broadcasts);
    uint64_t length = next_random(broadcasts) % 4 == 0 ? 8 : reserved;
    uint64_t content = broadcasts->published + 1;
    uint8_t *place = broadcast_send_begin(&broadcasts->sender, reserved);

    assert_non_null(place);
    memset(place, 0xee, (size_t)reserved);
    memcpy(place, &content, sizeof(content));
    broadcast_send_end(&broadcasts->sender, length, 0);
}

static void note_published(struct broadcasts *broadcasts, uint64_t before)
{
    uint64_t produced = broadcasts->section->control.produced;
    uint64_t start = before % BYTES;
    uint64_t header;

    if (produced != before) {
        /* The message is in the ring either where the last one ended or at the start. */
        memcpy(&header, &broadcasts->section->ring[start], sizeof(header));
        broadcasts->newest = header == CHANNEL_SKIP ? before - start + BYTES : before;
        broadcasts->published++;
    }
}

/* Sends a message. In one of four cases the life ends meanwhile, and so do some of the next ones.
 * They begin while receivers look on. */
static void take_step(struct broadcasts *broadcasts)
{
    uint64_t before = broadcasts->section->control.produced;
    struct listener late;

    if (setjmp(life_end) == 0) {
        uint64_t random = next_random(broadcasts);

        stores_left = random % 4 == 0 ? random / 4 % STORES : ENDLESS;
        if (random % 4 == 0 || broadcasts->sender.own == NULL) {
            assert_true(broadcast_sender_begin(&broadcasts->sender, broadcasts->section, BYTES));
        }
        send(broadcasts);
    } else {
        broadcasts->sender.own = NULL;
    }
    stores_left = ENDLESS;
    note_published(broadcasts, before);
    for (unsigned i = 0; i < RECEIVERS; i++) {
        if (next_random(broadcasts) % (1 + i) == 0) {
            listen_to_all(broadcasts, &broadcasts->listeners[i]);
        }
    }
    begin_listener(broadcasts, &late);
    listen_to_all(broadcasts, &late);
}

static void test_receivers_get_what_was_published(void **state)
{
    struct pair pair;
    struct broadcasts broadcasts = {.random = 88172645463325252u};

    (void)state;
    pair_create(&pair);
    broadcasts.section = pair.sections[0];
    for (unsigned i = 0; i < RECEIVERS; i++) {
        begin_listener(&broadcasts, &broadcasts.listeners[i]);
    }
    for (unsigned i = 0; i < 200000; i++) {
        take_step(&broadcasts);
    }
    pair_destroy(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_value_is_new),
        cmocka_unit_test(test_receivers_get_what_was_published),
    };

    return cmocka_run_group_tests_name("ended lives", tests, NULL, NULL);
}
