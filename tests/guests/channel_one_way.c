/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An end of the one-way channel "samples". The sender sends a message each `period` milliseconds
 * (boot argument), the text "number " with its number, and rings its doorbell. A receiver sleeps
 * until a doorbell rings, and prints when it has received `count` messages in order, with the
 * numbers of the first and the last one. Then it tries what only the sender may do: to ring, and to
 * set a state.
 *
 * With the boot argument `follow=1` a receiver receives for ever. It prints when it has received
 * another hundred messages, and when the sender begins again with number 1, and fails if a message
 * is missing that the library does not count as lost.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <channel/wait.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_MS     5u
#define PERIOD_MS_MAX 3600000u
#define COUNT         20u
#define COUNT_MAX     1000000u
#define WAIT_S        20u
#define CONTENT_BYTES 32u
#define PRINTED       100u

static struct {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct broadcast_sender sender;
    struct broadcast_receiver receiver;
    _Alignas(8) char content[CONTENT_BYTES];
} samples;

/* Writes the text of a message. Returns its length. */
static uint64_t write_text(char text[CONTENT_BYTES], uint64_t number)
{
    return (uint64_t)snprintf(text, CONTENT_BYTES, "number %lu", (unsigned long)number);
}

static int send(void)
{
    uint64_t period = boot_argument_number("period", PERIOD_MS, 1, PERIOD_MS_MAX);

    if (partition_channel_begin_sender(&samples.place, &samples.sender) != RESULT_OK) {
        return 1;
    }
    for (uint64_t number = 1;; number++) {
        uint64_t length = write_text(samples.content, number);

        memcpy(broadcast_send_begin(&samples.sender, length), samples.content, length);
        broadcast_send_end(&samples.sender, length, (uint32_t)number);
        partition_channel_notify(&samples.place);
        thread_sleep_until(time_after(period * NANOSECONDS_PER_MILLISECOND));
    }
}

/* Receives the next message. Returns its number; 0: none came in time. */
static uint64_t receive_next(void)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&samples.waiter);
    const struct channel_wait wait = channel_wait_for_broadcast(&samples.receiver);
    uint64_t deadline = time_after(WAIT_S * NANOSECONDS_PER_SECOND), length;
    char text[CONTENT_BYTES];
    uint32_t tag;

    while (channel_wait_any(&wait, 1, &sleeper, deadline) == 0) {
        if (broadcast_receive(&samples.receiver, samples.content, sizeof(samples.content), &length,
                              &tag) == BROADCAST_RECEIVED) {
            bool is_right =
                length == write_text(text, tag) && memcmp(text, samples.content, length) == 0;

            return is_right ? tag : 0;
        }
    }
    return 0;
}

static int follow(void)
{
    uint64_t last = 0, lost = 0, number;

    while ((number = receive_next()) != 0) {
        uint64_t more = samples.receiver.lost - lost;

        if (last != 0 && number <= last) {
            print("channel-one-way: begins again after %lu\n", (unsigned long)last);
            last = 0;
        } else if (last != 0 && number != last + 1 + more) {
            break;
        }
        if (number / PRINTED != last / PRINTED) {
            print("channel-one-way: received up to %lu, lost %lu\n", (unsigned long)number,
                  (unsigned long)samples.receiver.lost);
        }
        last = number;
        lost += more;
    }
    print("channel-one-way: FAIL: after %lu\n", (unsigned long)last);
    return 1;
}

static int receive(void)
{
    uint64_t count = boot_argument_number("count", COUNT, 1, COUNT_MAX), first, last;

    partition_waiter_init(&samples.waiter);
    if (partition_waiter_add(&samples.waiter, &samples.place) != RESULT_OK ||
        partition_channel_begin_receiver(&samples.place, &samples.receiver, false) != RESULT_OK) {
        return 1;
    }
    if (boot_argument_number("follow", 0, 0, 1) != 0) {
        return follow();
    }
    first = receive_next();
    last = first;
    for (uint64_t i = 1; i < count && last == first + i - 1; i++) {
        last = receive_next();
    }
    if (first == 0 || last != first + count - 1) {
        print("channel-one-way: FAIL: message %lu follows\n", (unsigned long)last);
        return 1;
    }
    partition_channel_notify(&samples.place);
    partition_channel_set_state(&samples.place, 1);
    print("channel-one-way: received %lu to %lu\n", (unsigned long)first, (unsigned long)last);
    while (receive_next() != 0) {
    }
    print("channel-one-way: FAIL: no message follows\n");
    return 1;
}

int application_main(void)
{
    if (partition_channel_open(&samples.place, "samples") != RESULT_OK) {
        print("channel-one-way: there is no channel\n");
        return 1;
    }
    return samples.place.end == 0 ? send() : receive();
}
