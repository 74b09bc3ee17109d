/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a channel of values, "position", and of two one-way channels: "log", on which it
 * sends, and "report", on which it receives. It writes a value and sends a message, sleeps until
 * something comes, and prints it. After `period` milliseconds (boot argument) without anything it
 * writes and sends again.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <channel/wait.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_MS     10u
#define PERIOD_MS_MAX 3600000u
#define CONTENT_BYTES 4096u

static struct {
    struct partition_channel position, log, report;
    struct partition_waiter waiter;
    struct value_writer writer;
    struct value_reader reader;
    struct broadcast_sender sender;
    struct broadcast_receiver receiver;
    _Alignas(8) char content[CONTENT_BYTES];
} kinds;

/* Begins an end as one of another kind. */
static bool are_refused(void)
{
    struct channel channel;

    return partition_channel_begin(&kinds.position, &channel) == RESULT_UNSUPPORTED &&
           partition_channel_begin(&kinds.log, &channel) == RESULT_UNSUPPORTED &&
           partition_channel_begin_values(&kinds.log, &kinds.writer, &kinds.reader) ==
               RESULT_UNSUPPORTED &&
           partition_channel_begin_sender(&kinds.position, &kinds.sender) == RESULT_UNSUPPORTED &&
           partition_channel_begin_sender(&kinds.report, &kinds.sender) == RESULT_UNSUPPORTED &&
           partition_channel_begin_receiver(&kinds.position, &kinds.receiver, false) ==
               RESULT_UNSUPPORTED &&
           partition_channel_begin_receiver(&kinds.log, &kinds.receiver, false) ==
               RESULT_UNSUPPORTED;
}

static bool open_channels(void)
{
    partition_waiter_init(&kinds.waiter);
    return partition_channel_open(&kinds.position, "position") == RESULT_OK &&
           partition_channel_open(&kinds.log, "log") == RESULT_OK &&
           partition_channel_open(&kinds.report, "report") == RESULT_OK &&
           partition_waiter_add(&kinds.waiter, &kinds.position) == RESULT_OK &&
           partition_waiter_add(&kinds.waiter, &kinds.report) == RESULT_OK;
}

static bool begin(void)
{
    return partition_channel_begin_values(&kinds.position, &kinds.writer, &kinds.reader) ==
               RESULT_OK &&
           partition_channel_begin_sender(&kinds.log, &kinds.sender) == RESULT_OK &&
           partition_channel_begin_receiver(&kinds.report, &kinds.receiver, false) == RESULT_OK;
}

static void send(uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "number %lu", (unsigned long)number);

    memcpy(value_write_begin(&kinds.writer), text, (size_t)length);
    if (value_write_end(&kinds.writer, (uint64_t)length)) {
        partition_channel_notify(&kinds.position);
    }
    memcpy(broadcast_send_begin(&kinds.sender, (uint64_t)length), text, (size_t)length);
    broadcast_send_end(&kinds.sender, (uint64_t)length, (uint32_t)number);
    partition_channel_notify(&kinds.log);
}

static void receive(void)
{
    uint64_t length;
    uint32_t tag;

    if (value_is_new(&kinds.reader)) {
        const uint8_t *value = value_read(&kinds.reader, &length);

        if (value != NULL) {
            print("channel-kinds: value %.*s\n", (int)length, (const char *)value);
        }
    }
    while (broadcast_receive(&kinds.receiver, kinds.content, sizeof(kinds.content), &length,
                             &tag) == BROADCAST_RECEIVED) {
        print("channel-kinds: message %.*s\n", (int)length, kinds.content);
    }
}

static void wait(uint64_t period)
{
    const struct channel_wait waits[] = {channel_wait_for_value(&kinds.reader),
                                         channel_wait_for_broadcast(&kinds.receiver)};
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&kinds.waiter);

    (void)channel_wait_any(waits, sizeof(waits) / sizeof(waits[0]), &sleeper, time_after(period));
}

int application_main(void)
{
    uint64_t period = boot_argument_number("period", PERIOD_MS, 1, PERIOD_MS_MAX);

    if (!open_channels()) {
        print("channel-kinds: a channel is missing\n");
        return 1;
    }
    if (!are_refused() || !begin()) {
        print("channel-kinds: FAIL: a channel is not of its kind\n");
        return 1;
    }
    for (uint64_t number = 1;; number++) {
        send(number);
        receive();
        if (kinds.reader.error.kind != CHANNEL_ERROR_NONE ||
            kinds.receiver.error.kind != CHANNEL_ERROR_NONE) {
            print("channel-kinds: FAIL: the other end violated the format\n");
            return 1;
        }
        wait(period * NANOSECONDS_PER_MILLISECOND);
    }
}
