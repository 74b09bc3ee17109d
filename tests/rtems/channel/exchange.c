/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In RTEMS, one end of a channel of messages, with tests/guests/channel.c of our kernel or the same
 * program at the other end. Each sends numbered messages of various sizes, and checks those that it
 * receives. The boot argument `send` is the number of messages to each life of the other end.
 */
#include "numbered_exchange.h"
#include <channel/rtems.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS  UINT64_C(1000000000) /* longest wait */
#define GRACE_NS UINT64_C(200000000)

void exchange_print(const char *text)
{
    printf("exchange: %s\n", text);
}

uint64_t exchange_time_after(uint64_t nanoseconds)
{
    return rtems_clock_get_uptime_nanoseconds() + nanoseconds;
}

static uint64_t to_send(void)
{
    const char *send = strstr(partition_boot_arguments(), "send=");

    return send != NULL ? strtoull(send + strlen("send="), NULL, 10) : 0;
}

static rtems_task Init(rtems_task_argument argument)
{
    rtems_status_code status = exchange_open(to_send(), GRACE_NS);

    (void)argument;
    if (status != RTEMS_SUCCESSFUL) {
        printf("exchange: %s\n", rtems_status_text(status));
        rtems_task_exit();
    }
    printf("exchange: waits for the other end\n");
    for (;;) {
        bool has_received = exchange_receive(), has_sent = exchange_send();

        exchange_follow_state();
        if (!has_received && !has_sent) {
            struct channel_wait waits[2];
            size_t count = exchange_waits(waits);

            (void)channel_wait_any(waits, count, &exchange.sleeper, exchange_time_after(LOOK_NS));
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
