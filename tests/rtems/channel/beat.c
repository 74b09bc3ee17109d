/* SPDX-License-Identifier: BSD-2-Clause */
/* Beats for a while, then masks its interrupts for ever. */
#include <channel/heartbeat.h>
#include <channel/rtems.h>
#include <stdio.h>

#define BEATS 20u

static rtems_task Init(rtems_task_argument argument)
{
    struct partition_heartbeat heartbeat;
    rtems_status_code status = partition_heartbeat_open(&heartbeat);
    rtems_interrupt_level level;

    (void)argument;
    if (status != RTEMS_SUCCESSFUL) {
        printf("FAIL: %s\n", rtems_status_text(status));
        return;
    }
    for (unsigned i = 0; i < BEATS; i++) {
        partition_heartbeat_beat(&heartbeat);
        (void)rtems_task_wake_after(RTEMS_MICROSECONDS_TO_TICKS(heartbeat.period / 4) + 1);
    }
    printf("beat: hangs\n");
    rtems_interrupt_local_disable(level);
    (void)level;
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_SIMPLE_CONSOLE_DRIVER
#define CONFIGURE_MAXIMUM_TASKS 1
#define CONFIGURE_RTEMS_INIT_TASKS_TABLE
#define CONFIGURE_INIT
#include <rtems/confdefs.h>
