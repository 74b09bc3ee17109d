/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends each message back, with its tag. The boot arguments are the names of the channels, at most
 * CHANNELS_MAX; without any, the first channel of the devicetree. One task waits for all of them.
 */
#include "channel/copy.h"
#include "channel/rtems.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHANNELS_MAX 4u
#define LOOK_NS      UINT64_C(1000000000) /* until a side is connected again after a failure */

struct side {
    struct partition_channel place;
    struct channel channel;
    uint64_t echoed; /* in this connection */
};

static struct partition_waiter waiter;
static struct side sides[CHANNELS_MAX];
static size_t side_count;

/* Returns false after an error message if there is no such channel. `name`: NULL for the first. */
static bool open_side(const char *name)
{
    struct side *side = &sides[side_count];
    rtems_status_code status = partition_channel_open(&side->place, name);

    if (status == RTEMS_SUCCESSFUL) {
        status = partition_waiter_add(&waiter, &side->place);
    }
    if (status == RTEMS_SUCCESSFUL) {
        status = partition_channel_begin(&side->place, &side->channel);
    }
    if (status != RTEMS_SUCCESSFUL) {
        printf("echo: channel %s: %s\n", name != NULL ? name : "", rtems_status_text(status));
        return false;
    }
    side_count++;
    printf("echo: waits at %s\n", side->place.name);
    return true;
}

static bool open_sides(void)
{
    static char names[256];
    char *rest = names;
    bool is_open = true;

    (void)snprintf(names, sizeof(names), "%s", partition_boot_arguments());
    for (const char *name = strtok_r(names, " ", &rest);
         name != NULL && side_count < CHANNELS_MAX && is_open; name = strtok_r(NULL, " ", &rest)) {
        is_open = open_side(name);
    }
    return is_open && (side_count != 0 || open_side(NULL));
}

/* Connects with the next life of the other end after this one has ended or violated the format. */
static void follow_state(struct side *side)
{
    if (side->channel.state == CHANNEL_ENDED) {
        printf("echo: %s ended after %" PRIu64 "\n", side->place.name, side->echoed);
        side->echoed = 0;
        channel_accept(&side->channel);
    } else if (side->channel.state == CHANNEL_FAILED) {
        printf("echo: %s failed: %s\n", side->place.name,
               channel_error_text(side->channel.error.kind));
        side->echoed = 0;
        channel_reset(&side->channel);
    }
}

/* Sends back the messages for which there is space, and drops those of a life that has ended.
 * Returns what to wait for: a message, or space for the one that stays in the ring. */
static struct channel_wait answer(struct side *side)
{
    const uint8_t *content;
    uint64_t length;
    uint32_t tag;

    while ((content = channel_receive_begin(&side->channel, &length, &tag)) != NULL) {
        enum channel_result result = channel_send(&side->channel, content, length, tag);

        if (result == CHANNEL_NOTHING) {
            return channel_wait_for_space(&side->channel, length);
        }
        side->echoed += result == CHANNEL_DONE ? 1 : 0;
        channel_receive_end(&side->channel);
    }
    follow_state(side);
    return channel_wait_for_message(&side->channel);
}

static rtems_task Init(rtems_task_argument argument)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&waiter);
    struct channel_wait waits[CHANNELS_MAX];

    (void)argument;
    partition_waiter_init(&waiter);
    if (!open_sides()) {
        rtems_task_exit();
    }
    for (;;) {
        for (size_t i = 0; i < side_count; i++) {
            waits[i] = answer(&sides[i]);
        }
        (void)channel_wait_any(waits, side_count, &sleeper,
                               rtems_clock_get_uptime_nanoseconds() + LOOK_NS);
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
