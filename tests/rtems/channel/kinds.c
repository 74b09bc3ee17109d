/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In RTEMS, the other ends of the channels of tests/guests/channel_kinds.c: "position" has values,
 * "log" brings messages one way, and "report" takes them. It writes a value and sends a message in
 * each period, and prints what comes.
 */
#include <channel/rtems.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_TICKS  10u
#define CONTENT_BYTES 4096u

static struct {
    struct partition_channel position, log, report;
    struct value_writer writer;
    struct value_reader reader;
    struct broadcast_sender sender;
    struct broadcast_receiver receiver;
    _Alignas(8) char content[CONTENT_BYTES];
} kinds;

static bool open_channels(void)
{
    return partition_channel_open(&kinds.position, "position") == RTEMS_SUCCESSFUL &&
           partition_channel_open(&kinds.log, "log") == RTEMS_SUCCESSFUL &&
           partition_channel_open(&kinds.report, "report") == RTEMS_SUCCESSFUL;
}

/* Begins an end as one of another kind. */
static bool are_refused(void)
{
    struct channel channel;

    return partition_channel_begin(&kinds.position, &channel) == RTEMS_NOT_DEFINED &&
           partition_channel_begin_values(&kinds.report, &kinds.writer, &kinds.reader) ==
               RTEMS_NOT_DEFINED &&
           partition_channel_begin_sender(&kinds.log, &kinds.sender) == RTEMS_NOT_DEFINED &&
           partition_channel_begin_receiver(&kinds.report, &kinds.receiver, false) ==
               RTEMS_NOT_DEFINED;
}

static bool begin(void)
{
    return partition_channel_begin_values(&kinds.position, &kinds.writer, &kinds.reader) ==
               RTEMS_SUCCESSFUL &&
           partition_channel_begin_sender(&kinds.report, &kinds.sender) == RTEMS_SUCCESSFUL &&
           partition_channel_begin_receiver(&kinds.log, &kinds.receiver, false) == RTEMS_SUCCESSFUL;
}

static void send(uint64_t number)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "RTEMS %" PRIu64, number);

    memcpy(value_write_begin(&kinds.writer), text, (size_t)length);
    if (value_write_end(&kinds.writer, (uint64_t)length)) {
        partition_channel_notify(&kinds.position);
    }
    memcpy(broadcast_send_begin(&kinds.sender, (uint64_t)length), text, (size_t)length);
    broadcast_send_end(&kinds.sender, (uint64_t)length, (uint32_t)number);
}

static void receive(void)
{
    uint64_t length;
    uint32_t tag;

    if (value_is_new(&kinds.reader)) {
        const uint8_t *value = value_read(&kinds.reader, &length);

        if (value != NULL) {
            printf("kinds: value %.*s\n", (int)length, (const char *)value);
        }
    }
    while (broadcast_receive(&kinds.receiver, kinds.content, sizeof(kinds.content), &length,
                             &tag) == BROADCAST_RECEIVED) {
        printf("kinds: message %.*s\n", (int)length, kinds.content);
    }
}

static rtems_task Init(rtems_task_argument argument)
{
    (void)argument;
    if (!open_channels() || !are_refused() || !begin()) {
        printf("kinds: FAILED: a channel is missing, or is not of its kind\n");
        rtems_task_exit();
    }
    for (uint64_t number = 1;; number++) {
        send(number);
        receive();
        (void)rtems_task_wake_after(PERIOD_TICKS);
    }
}

#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_CONSOLE_DRIVER
#define CONFIGURE_MICROSECONDS_PER_TICK 1000
#define CONFIGURE_MAXIMUM_TASKS         1
#define CONFIGURE_RTEMS_INIT_TASKS_TABLE
#define CONFIGURE_INIT_TASK_STACK_SIZE (16 * 1024)
#define CONFIGURE_INIT_TASK_ATTRIBUTES RTEMS_FLOATING_POINT
#define CONFIGURE_INIT
#include <rtems/confdefs.h>
