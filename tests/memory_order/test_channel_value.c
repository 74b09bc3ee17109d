/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the memory order of channels of values (channel/value.c), as test_channel.c does for those
 * of messages.
 *   - A value does not change while it is read. A violation would be a data race.
 *   - Values never go back, and a reader that was told of a newer value gets it.
 *   - No doorbell is lost.
 */
#include "channel/value.h"
#include "channel/wait.h"
#include "orders.h"
#include <string.h>

#define ORDERS 10u

#define RING_BYTES CHANNEL_RING_MIN

enum { DOORBELL };

static _Alignas(CHANNEL_CONTROL_BYTES) uint8_t section[CHANNEL_CONTROL_BYTES + RING_BYTES];
static struct channel_control reader_control;
static struct value_writer writer;
static struct value_reader reader;
static uint64_t last; /* the last value that was read */

static struct channel_control *writer_control(void)
{
    void *page = section;

    return page;
}

static void write_value(void)
{
    uint64_t value = writer.number + 1;

    model_store(value_write_begin(&writer), sizeof(value), value);
    if (value_write_end(&writer, sizeof(value))) {
        model_signal(DOORBELL);
    }
}

/* Returns false if there is no value. */
static bool read_value(void)
{
    uint64_t length;
    const uint8_t *content = value_read(&reader, &length);
    uint64_t value;

    MODEL_CHECK(reader.error.kind == CHANNEL_ERROR_NONE);
    if (content == NULL) {
        return false;
    }
    value = model_load(content, sizeof(value));
    MODEL_CHECK(length == sizeof(value));
    MODEL_CHECK(value == reader.number);
    MODEL_CHECK(value >= last);
    last = value;
    return true;
}

static void share(void)
{
    struct channel_control *control = writer_control();

    model_share(&control->produced, sizeof(uint64_t));
    model_share(&control->latest, sizeof(uint64_t));
    model_share(&control->newest[0], sizeof(uint64_t));
    model_share(&control->newest[1], sizeof(uint64_t));
    model_share(&reader_control.reading, sizeof(uint64_t));
    model_share(&reader_control.waits, sizeof(uint64_t));
}

static void prepare_first(void)
{
    memset(section, 0, sizeof(section));
    memset(&reader_control, 0, sizeof(reader_control));
    last = 0;
    MODEL_CHECK(value_reader_begin(&reader, section, &reader_control, RING_BYTES));
    share();
    model_share(&writer_control()->format, sizeof(uint64_t));
}

static void begin_and_write(void)
{
    MODEL_CHECK(value_writer_begin(&writer, section, &reader_control, RING_BYTES));
    write_value();
}

static void read_first(void)
{
    while (!value_is_new(&reader)) {
        model_await_unread(&writer_control()->produced);
    }
    MODEL_CHECK(read_value());
}

static void prepare_second(void)
{
    memset(section, 0, sizeof(section));
    memset(&reader_control, 0, sizeof(reader_control));
    last = 0;
    MODEL_CHECK(value_writer_begin(&writer, section, &reader_control, RING_BYTES));
    MODEL_CHECK(value_reader_begin(&reader, section, &reader_control, RING_BYTES));
    write_value();
    share();
}

/* An earlier life ended before the reader could see that its last value is the newest one. */
static void prepare_ended(void)
{
    uint64_t latest;

    prepare_second();
    MODEL_CHECK(read_value());
    latest = writer_control()->latest;
    write_value();
    writer_control()->latest = latest;
    writer_control()->produced--;
    model_share(&writer_control()->format, sizeof(uint64_t));
}

static void write_three(void)
{
    for (unsigned i = 0; i < 3; i++) {
        write_value();
    }
}

static void read_two(void)
{
    for (unsigned i = 0; i < 2; i++) {
        MODEL_CHECK(read_value());
    }
}

/* A reader that sees that there is a newer value gets it. */
static void write_two(void)
{
    write_value();
    write_value();
}

static void read_new(void)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before = last;

        if (value_is_new(&reader)) {
            MODEL_CHECK(read_value());
            MODEL_CHECK(last > before);
        }
    }
}

static void prepare_sleep(void *context)
{
    (void)context;
    model_clear(DOORBELL);
}

static bool sleep_until_doorbell(void *context, uint64_t deadline)
{
    (void)context;
    (void)deadline;
    model_wait(DOORBELL);
    return true;
}

static void wait_for_last(void)
{
    const struct channel_sleeper sleeper = {.prepare = prepare_sleep,
                                            .sleep = sleep_until_doorbell};
    const struct channel_wait wait = channel_wait_for_value(&reader);

    do {
        uint64_t before = last;

        (void)channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER);
        MODEL_CHECK(read_value());
        MODEL_CHECK(last > before);
    } while (last < 2);
}

static const struct order_program programs[] = {
    {{"first value", prepare_first, {begin_and_write, read_first}}, 3000000},
    {{"three values", prepare_second, {write_three, read_two}}, 3000000},
    {{"new values", prepare_second, {write_two, read_new}}, 3000000},
    {{"ended life", prepare_ended, {begin_and_write, read_new}}, 3000000},
    {{"sleep", prepare_second, {write_value, wait_for_last}}, 3000000},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
