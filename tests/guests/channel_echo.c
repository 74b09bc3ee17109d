/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers the measurements of bulkhead-channel (channel/linux/command/measure.c) and its calls:
 * sends messages with the tag 2, and requests, back, and drops all others. It looks for messages
 * for a while before it sleeps.
 */
#include "kernel/application.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <channel/call.h>

#define TAG_ECHO 2u
#define LOOKS    2000u /* without a message, before the thread sleeps */

static struct {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct channel channel;
} side;

/* Handles one message. Returns false if there is none. */
static bool answer(void)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&side.channel, &length, &tag);

    if (content == NULL) {
        return false;
    }
    if (tag == TAG_ECHO || call_is_request(tag)) {
        const struct channel_sleeper sleeper = partition_waiter_sleeper(&side.waiter);

        /* As soon as there is space. It is lost if the connection ends before. */
        (void)call_answer(&side.channel, &sleeper, DEADLINE_NONE, content, length, tag);
    }
    channel_receive_end(&side.channel);
    return true;
}

static void wait_for_message(void)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&side.waiter);
    struct channel_wait wait;

    if (side.channel.state == CHANNEL_FAILED) {
        print("channel-echo: %s\n", channel_error_text(side.channel.error.kind));
        channel_reset(&side.channel);
    }
    channel_accept(&side.channel);
    wait = channel_wait_for_message(&side.channel);
    (void)channel_wait_any(&wait, 1, &sleeper, DEADLINE_NONE);
}

int application_main(void)
{
    enum result result = partition_channel_open(&side.place, NULL);

    partition_waiter_init(&side.waiter);
    if (result == RESULT_OK) {
        result = partition_waiter_add(&side.waiter, &side.place);
    }
    if (result == RESULT_OK) {
        result = partition_channel_begin(&side.place, &side.channel);
    }
    if (result != RESULT_OK) {
        print("channel-echo: %s\n", result_text(result));
        return 1;
    }
    print("channel-echo: waits for the other end\n");
    for (;;) {
        unsigned looks = 0;

        while (looks++ < LOOKS) {
            if (answer()) {
                looks = 0;
            }
        }
        wait_for_message();
    }
}
