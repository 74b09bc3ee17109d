/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An RTEMS application on lwIP and a virtio network device: echo on port 7, an iperf 2 server on
 * 5001, and a shell on the console with the command `vnetstat`.
 */
#include "echo.h"
#include "lwip/apps/lwiperf.h"
#include "lwip/ip4_addr.h"
#include "lwip/tcpip.h"
#include "sample_board.h"
#include "virtio_lwip.h"
#include "vnetstat.h"
#include <inttypes.h>
#include <rtems.h>
#include <rtems/shell.h>
#include <stdio.h>

#ifndef SAMPLE_RX_BUFFERS
#define SAMPLE_RX_BUFFERS 0
#endif

#define SHELL_STACK_BYTES (32 * 1024)
#define SHELL_PRIORITY    150

/* lwIP calls the following two functions with its core locked. */

static void report_address(struct netif *netif)
{
    static ip4_addr_t reported;

    if (!ip4_addr_cmp(&reported, netif_ip4_addr(netif))) {
        reported = *netif_ip4_addr(netif);
        printf("net: address %s\n", ip4addr_ntoa(&reported));
    }
}

static void report_iperf(void *argument, enum lwiperf_report_type type, const ip_addr_t *local,
                         u16_t local_port, const ip_addr_t *remote, u16_t remote_port, u32_t bytes,
                         u32_t milliseconds, u32_t kilobits_per_second)
{
    (void)argument;
    (void)local;
    (void)local_port;
    (void)remote;
    (void)remote_port;
    (void)kilobits_per_second;
    if (milliseconds != 0 && (type == LWIPERF_TCP_DONE_SERVER || type == LWIPERF_TCP_DONE_CLIENT)) {
        printf("iperf: %s %" PRIu32 " bytes in %" PRIu32 " ms\n",
               type == LWIPERF_TCP_DONE_SERVER ? "received" : "sent", bytes, milliseconds);
    }
}

/* Starts the network and the services. Returns NULL after an error message if there is no network.
 */
static struct virtio_netif *start_network(void)
{
    const struct virtio_lwip_configuration configuration = {
        .board = sample_board(),
        .interface = {.driver = {.rx_buffers = SAMPLE_RX_BUFFERS}},
    };
    const char *reason;
    struct virtio_netif *interface = virtio_lwip_start(&configuration, &reason);

    if (interface == NULL) {
        printf("net: %s\n", reason);
        return NULL;
    }
    LOCK_TCPIP_CORE();
    netif_set_status_callback(virtio_netif_interface(interface), report_address);
    (void)lwiperf_start_tcp_server(IP_ANY_TYPE, LWIPERF_TCP_PORT_DEFAULT, report_iperf, NULL);
    UNLOCK_TCPIP_CORE();
    if (echo_start()) {
        printf("sample: echo on 7, iperf 2 on 5001; the command vnetstat prints the driver's "
               "counters\n");
    }
    return interface;
}

static rtems_task Init(rtems_task_argument argument)
{
    (void)argument;
    (void)vnetstat_add(start_network());
    (void)rtems_shell_init("SHLL", SHELL_STACK_BYTES, SHELL_PRIORITY, "/dev/console", false, true,
                           NULL);
    rtems_task_exit();
}

#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_CONSOLE_DRIVER
#define CONFIGURE_MICROSECONDS_PER_TICK 1000
#define CONFIGURE_UNLIMITED_OBJECTS
#define CONFIGURE_UNIFIED_WORK_AREAS
#define CONFIGURE_MAXIMUM_FILE_DESCRIPTORS 16
#define CONFIGURE_RTEMS_INIT_TASKS_TABLE
#define CONFIGURE_INIT_TASK_STACK_SIZE (16 * 1024)
#define CONFIGURE_INIT_TASK_ATTRIBUTES RTEMS_FLOATING_POINT
#define CONFIGURE_INIT
#include <rtems/confdefs.h>

#define CONFIGURE_SHELL_COMMANDS_INIT
#define CONFIGURE_SHELL_COMMAND_CPUUSE
#include <rtems/shellconfig.h>
