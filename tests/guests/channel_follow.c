/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A receiver of the one-way channel "samples", and the reader of the channel of values that the
 * boot argument `values` names. Both carry the text "number " with a number, which grows by one
 * from message to message, or from value to value, and begins at 1 again with each life of the
 * sender. The program prints when a number has passed another hundred, and when numbers begin
 * again. It fails if a text has another form, or if a message is missing that the library does not
 * count as lost.
 *
 * Characters at the console: `p` stands still until `c`; a number and `h` attack the writer of
 * values, with the number as seed. Only a restart makes the program read values again.
 */
#include "channel_hostile.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <channel/wait.h>
#include <string.h>

#define PRINTED       100u
#define CONTENT_BYTES 64u
#define NAME_BYTES    16u
#define LOOK          (50 * NANOSECONDS_PER_MILLISECOND) /* between two looks at the console */

/* The numbers of messages, or of values. */
struct numbers {
    const char *name;
    uint64_t last; /* 0: none */
};

static struct {
    struct partition_channel samples, values;
    struct partition_waiter waiter;
    struct broadcast_receiver receiver;
    struct value_writer writer;
    struct value_reader reader;
    struct numbers messages, newest;
    uint64_t typed; /* number before a command */
    bool is_still;
    bool is_hostile;
    _Alignas(8) char content[CONTENT_BYTES];
} follower = {.messages = {.name = "received"}, .newest = {.name = "value"}};

/* Returns the number in a text; 0: the text has another form. */
static uint64_t read_number(const char *text, uint64_t length)
{
    static const char begin[] = "number ";
    uint64_t number = 0;

    if (length < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0) {
        return 0;
    }
    for (uint64_t i = sizeof(begin) - 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        number = 10 * number + (uint64_t)(text[i] - '0');
    }
    return number;
}

static void note(struct numbers *numbers, uint64_t number)
{
    if (number <= numbers->last) {
        print("channel-follow: %s begins again after %lu\n", numbers->name,
              (unsigned long)numbers->last);
        numbers->last = 0;
    }
    if (number / PRINTED != numbers->last / PRINTED) {
        print("channel-follow: %s up to %lu, lost %lu\n", numbers->name, (unsigned long)number,
              (unsigned long)follower.receiver.lost);
    }
    numbers->last = number;
}

static bool fail(const char *what, uint64_t number)
{
    print("channel-follow: FAIL: %s %lu\n", what, (unsigned long)number);
    return false;
}

/* Receives all messages. Returns false after an error. */
static bool receive(void)
{
    uint64_t lost = follower.receiver.lost, last = follower.messages.last, length;
    enum broadcast_result result;
    uint32_t tag;

    while ((result = broadcast_receive(&follower.receiver, follower.content, CONTENT_BYTES, &length,
                                       &tag)) == BROADCAST_RECEIVED) {
        uint64_t number = read_number(follower.content, length);
        uint64_t more = follower.receiver.lost - lost;

        /* Among the lost messages may be the first ones of the sender's next life. */
        if (number == 0 || (last != 0 && number > last + 1 + more) ||
            (last != 0 && more == 0 && number > 1 && number != last + 1)) {
            return fail("a message is missing after", last);
        }
        note(&follower.messages, number);
        last = number;
        lost += more;
    }
    return result == BROADCAST_NONE || fail("result of a message", result);
}

/* Reads the newest value. Returns false after an error. */
static bool read_value(void)
{
    uint64_t length, number;
    const uint8_t *content;

    if (follower.is_hostile || !value_is_new(&follower.reader)) {
        return true;
    }
    content = value_read(&follower.reader, &length);
    number = content == NULL ? 0 : read_number((const char *)content, length);
    if (number == 0) {
        return fail("no value after", follower.newest.last);
    }
    note(&follower.newest, number);
    return true;
}

static void obey(char command)
{
    switch (command) {
    case 'p':
        follower.is_still = true;
        print("channel-follow: stands still\n");
        break;
    case 'c':
        follower.is_still = false;
        break;
    case 'h':
        follower.is_hostile = true;
        channel_hostile_attack(&follower.values, follower.typed);
        follower.typed = 0;
        break;
    default:
        if (command >= '0' && command <= '9') {
            follower.typed = 10 * follower.typed + (uint64_t)(command - '0');
        }
        break;
    }
}

static void wait(void)
{
    const struct channel_wait waits[] = {channel_wait_for_broadcast(&follower.receiver),
                                         channel_wait_for_value(&follower.reader)};
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&follower.waiter);

    (void)channel_wait_any(waits, follower.is_hostile ? 1 : 2, &sleeper, time_after(LOOK));
}

/* Returns false after an error. */
static bool take_turn(void)
{
    char command;

    while (console_read(&command, DEADLINE_POLL) == RESULT_OK) {
        obey(command);
    }
    if (follower.is_still) {
        thread_sleep_until(time_after(LOOK));
        return true;
    }
    wait();
    return receive() && read_value();
}

static bool begin(void)
{
    char name[NAME_BYTES];

    partition_waiter_init(&follower.waiter);
    return boot_argument("values", name, sizeof(name)) &&
           partition_channel_open(&follower.samples, "samples") == RESULT_OK &&
           partition_channel_open(&follower.values, name) == RESULT_OK &&
           partition_waiter_add(&follower.waiter, &follower.samples) == RESULT_OK &&
           partition_waiter_add(&follower.waiter, &follower.values) == RESULT_OK &&
           partition_channel_begin_receiver(&follower.samples, &follower.receiver, false) ==
               RESULT_OK &&
           partition_channel_begin_values(&follower.values, &follower.writer, &follower.reader) ==
               RESULT_OK;
}

int application_main(void)
{
    if (!begin()) {
        print("channel-follow: FAIL: a channel is missing\n");
        return 1;
    }
    while (take_turn()) {
    }
    return 1;
}
