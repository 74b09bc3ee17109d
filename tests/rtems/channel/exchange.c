/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In RTEMS, one end of a channel of messages, with tests/guests/channel.c of our kernel or the same
 * program at the other end. Each sends numbered messages of various sizes, and checks those that it
 * receives. The boot argument `send` is the number of messages to each life of the other end.
 */
#include "numbered_messages.h"
#include <channel/copy.h>
#include <channel/rtems.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT   1000u                /* messages */
#define LOOK_NS  UINT64_C(1000000000) /* longest wait */
#define GRACE_NS UINT64_C(200000000)  /* for a doorbell that is under way */

static struct {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct channel_sleeper sleeper;
    struct channel channel;
    struct numbered_messages messages;
    uint64_t wakes;  /* doorbells that ended a wait */
    uint64_t missed; /* messages that came without a doorbell while the task waited */
    enum channel_state state;
} side;

static uint64_t time_after(uint64_t nanoseconds)
{
    return rtems_clock_get_uptime_nanoseconds() + nanoseconds;
}

static bool receive_one(void)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&side.channel, &length, &tag);

    if (content == NULL) {
        return false;
    }
    if (!numbered_messages_are_right(&side.messages, content, length, tag)) {
        printf("exchange: WRONG: message %" PRIu64 " has %" PRIu64 " bytes and tag %" PRIu32 "\n",
               side.messages.received, length, tag);
    }
    channel_receive_end(&side.channel);
    side.messages.received++;
    if (side.messages.received % REPORT == 0) {
        printf("exchange: received %" PRIu64 ", wakes %" PRIu64 ", missed %" PRIu64 "\n",
               side.messages.received, side.wakes, side.missed);
    }
    return true;
}

/* Prints changes of the state, and connects again after the other end has ended. */
static void follow_state(void)
{
    enum channel_state state = channel_update(&side.channel);

    if (state == side.state) {
        return;
    }
    side.state = state;
    if (state == CHANNEL_CONNECTED) {
        printf("exchange: connected by %s, end %" PRIu32 "\n", side.place.name, side.place.end);
    } else if (state == CHANNEL_ENDED) {
        printf("exchange: ended after %" PRIu64 ", the other end is %s\n", side.messages.received,
               partition_channel_peer_state(&side.place) == 0 ? "absent" : "there");
        numbered_messages_begin(&side.messages);
        channel_accept(&side.channel);
        follow_state();
    } else if (state == CHANNEL_FAILED) {
        printf("exchange: FAILED: %s (0x%" PRIx64 ")\n",
               channel_error_text(side.channel.error.kind), side.channel.error.value);
        numbered_messages_begin(&side.messages);
        channel_reset(&side.channel);
        /* So that the next failure is noticed if no other state is seen before it. */
        side.state = CHANNEL_CONNECTING;
    }
}

static bool has_message(void)
{
    uint64_t length;
    uint32_t tag;

    return channel_receive_begin(&side.channel, &length, &tag) != NULL;
}

/* Sleeps, and counts messages for which no doorbell rang: it is still armed. */
static bool sleep_and_watch(void *context, uint64_t deadline)
{
    bool is_in_time = partition_waiter_sleep(context, deadline);

    if (is_in_time) {
        side.wakes++;
    } else if (has_message() && __atomic_load_n(&side.place.is_armed, __ATOMIC_ACQUIRE) &&
               !partition_waiter_sleep(context, time_after(GRACE_NS))) {
        side.missed++;
    }
    return is_in_time;
}

static void wait_for_peer(void)
{
    struct channel_wait waits[2] = {channel_wait_for_message(&side.channel)};
    size_t count = 1;

    if (side.messages.sent < side.messages.to_send && side.state == CHANNEL_CONNECTED) {
        waits[count++] = channel_wait_for_space(
            &side.channel, numbered_messages_length(&side.messages, side.messages.sent));
    }
    (void)channel_wait_any(waits, count, &side.sleeper, time_after(LOOK_NS));
}

static rtems_status_code open_channel(void)
{
    rtems_status_code status = partition_channel_open(&side.place, NULL);

    if (status != RTEMS_SUCCESSFUL) {
        return status;
    }
    partition_waiter_init(&side.waiter);
    status = partition_waiter_add(&side.waiter, &side.place);
    side.sleeper = partition_waiter_sleeper(&side.waiter);
    side.sleeper.sleep = sleep_and_watch;
    numbered_messages_init(&side.messages, side.place.section_bytes);
    return status == RTEMS_SUCCESSFUL ? partition_channel_begin(&side.place, &side.channel)
                                      : status;
}

static rtems_task Init(rtems_task_argument argument)
{
    rtems_status_code status = open_channel();
    const char *send = strstr(partition_boot_arguments(), "send=");

    (void)argument;
    if (status != RTEMS_SUCCESSFUL) {
        printf("exchange: %s\n", rtems_status_text(status));
        rtems_task_exit();
    }
    side.messages.to_send = send != NULL ? strtoull(send + strlen("send="), NULL, 10) : 0;
    side.state = CHANNEL_CONNECTING;
    printf("exchange: waits for the other end\n");
    for (;;) {
        bool has_received = receive_one(),
             has_sent = numbered_messages_send(&side.messages, &side.channel);

        follow_state();
        if (!has_received && !has_sent) {
            wait_for_peer();
        }
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
