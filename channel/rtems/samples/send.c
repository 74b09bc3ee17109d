/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends a line of text each PERIOD_NS to the other end of the first channel, and prints the
 * messages that come back. The other end: samples/echo.c, or in Linux `bulkhead-channel receive
 * CHANNEL`.
 */
#include "channel/copy.h"
#include "channel/rtems.h"
#include <inttypes.h>
#include <stdio.h>

#define PERIOD_NS  UINT64_C(100000000)
#define TEXT_BYTES 256u

static struct partition_channel place;
static struct partition_waiter waiter;
static struct channel channel;

static rtems_status_code open_channel(void)
{
    rtems_status_code status = partition_channel_open(&place, NULL);

    partition_waiter_init(&waiter);
    if (status == RTEMS_SUCCESSFUL) {
        status = partition_waiter_add(&waiter, &place);
    }
    return status == RTEMS_SUCCESSFUL ? partition_channel_begin(&place, &channel) : status;
}

/* Prints all messages that are there. */
static void receive(void)
{
    char text[TEXT_BYTES];
    enum channel_result result;
    uint64_t length;
    uint32_t tag;

    while ((result = channel_receive(&channel, text, sizeof(text), &length, &tag)) ==
           CHANNEL_DONE) {
        printf("send: received: %.*s\n", (int)length, text);
    }
    if (result == CHANNEL_TOO_LARGE) {
        printf("send: a message of %" PRIu64 " bytes is too long\n", length);
        channel_reset(&channel);
    }
}

/* Returns false if the other end is not connected, or if there is no space. */
static bool send(uint64_t number)
{
    char text[TEXT_BYTES];
    int length = snprintf(text, sizeof(text), "message %" PRIu64, number);

    return channel_send(&channel, text, (uint64_t)length, 0) == CHANNEL_DONE;
}

/* Connects with the next life of the other end after this one has ended or violated the format. */
static void follow_state(void)
{
    if (channel.state == CHANNEL_ENDED) {
        printf("send: the other end has ended\n");
        channel_accept(&channel);
    } else if (channel.state == CHANNEL_FAILED) {
        printf("send: %s\n", channel_error_text(channel.error.kind));
        channel_reset(&channel);
    }
}

/* Receives until the deadline. */
static void receive_until(uint64_t deadline)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&waiter);
    struct channel_wait wait;

    do {
        receive();
        follow_state();
        wait = channel_wait_for_message(&channel);
    } while (channel_wait_any(&wait, 1, &sleeper, deadline) == 0);
}

static rtems_task Init(rtems_task_argument argument)
{
    rtems_status_code status = open_channel();
    uint64_t deadline = rtems_clock_get_uptime_nanoseconds(), number = 0;

    (void)argument;
    if (status != RTEMS_SUCCESSFUL) {
        printf("send: %s\n", rtems_status_text(status));
        rtems_task_exit();
    }
    printf("send: sends to %s\n", place.name);
    for (;;) {
        number += send(number) ? 1 : 0;
        deadline += PERIOD_NS;
        receive_until(deadline);
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
