/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP echo, iperf, ttcp and the driver's counters on RTEMS's legacy BSD stack. */
#include "sample.h"
#include <rtems.h>
#include <rtems/rtems_bsdnet.h>
#include <rtems/shell.h>

#define SHELL_STACK_BYTES 32768
#define SHELL_PRIORITY    130

static void init(rtems_task_argument argument)
{
    (void)argument;
    network_choose_board();
    if (rtems_bsdnet_initialize_network() != 0) {
        printf("sample: the network did not start\n");
        rtems_task_exit();
    }
    services_start();
    printf("sample: ready\n");
    (void)rtems_shell_add_cmd("vnetstat", "net", "the driver's counters", vnetstat_command);
    (void)rtems_shell_add_cmd("ttcp", "net", "ttcp ADDRESS [BYTES]", ttcp_command);
    (void)rtems_shell_add_cmd("watch", "net", "watch on|off", watch_command);
    (void)rtems_shell_init("SHEL", SHELL_STACK_BYTES, SHELL_PRIORITY, "/dev/console", true, false,
                           NULL);
    rtems_task_exit();
}

extern rtems_shell_cmd_t rtems_shell_IFCONFIG_Command;
extern rtems_shell_cmd_t rtems_shell_NETSTATS_Command;

#define CONFIGURE_SHELL_COMMANDS_INIT
#define CONFIGURE_SHELL_COMMAND_CPUUSE
#define CONFIGURE_SHELL_COMMAND_STACKUSE
#define CONFIGURE_SHELL_USER_COMMANDS &rtems_shell_IFCONFIG_Command, &rtems_shell_NETSTATS_Command
#include <rtems/shellconfig.h>

#define CONFIGURE_INIT
#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_CONSOLE_DRIVER
#define CONFIGURE_UNLIMITED_OBJECTS
#define CONFIGURE_UNIFIED_WORK_AREAS
#define CONFIGURE_MICROSECONDS_PER_TICK    1000
#define CONFIGURE_MAXIMUM_FILE_DESCRIPTORS 64
#define CONFIGURE_RTEMS_INIT_TASKS_TABLE
#define CONFIGURE_INIT_TASK_ENTRY_POINT init
#define CONFIGURE_INIT_TASK_STACK_SIZE  32768
#include <rtems/confdefs.h>
