/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RTEMS in ./bulkhead bench vcpu: the real-time loop (loop.h) with deadlines (EDF), and with a
 * constant bandwidth server (CBS) as well, first alone and then beside a spinning task and a flood
 * of datagrams.
 *
 * RTEMS wakes tasks at its clock's ticks only. So the period is a multiple of the tick, and the
 * loop's wake-ups lie on ticks.
 */
#define CONFIGURE_SCHEDULER_CBS /* for rtems/cbs.h and rtems/confdefs.h */
#include "lwip/api.h"
#include "lwip/tcpip.h"
#include "virtio_lwip.h"
#include <dev/clock/arm-generic-timer.h>
#include <inttypes.h>
#include <rtems.h>
#include <rtems/cbs.h>
#include <stdio.h>
#include <stdlib.h>

#define TICK_MICROSECONDS 1000
#define TICK              (UINT64_C(1000) * TICK_MICROSECONDS) /* nanoseconds */
#define FLOOD_PORT        5000
#define RESERVED_TICKS    2
#define LOOP_PRIORITY     10
#define SPIN_PRIORITY     250
#define STACK_BYTES       (16 * 1024)

#define LOOP_PERIOD (10 * TICK)
#define loop_print  (void)printf

static rtems_id period_of_loop;

/* The counter has one tick per nanosecond in the bench's machine. */
static uint64_t loop_now(void)
{
    return arm_gt_clock_get_count();
}

/* Ends the present job, and waits for the next period. */
static void loop_sleep_until(uint64_t time)
{
    (void)time;
    (void)rtems_rate_monotonic_period(period_of_loop, LOOP_PERIOD / TICK);
}

#include "loop.h"

static struct virtio_netif *interface;
static volatile struct loop_result *finished;

static _Noreturn void fail(const char *what)
{
    printf("vcpu: failed: %s\n", what);
    exit(1);
}

static void check(rtems_status_code status, const char *what)
{
    if (status != RTEMS_SUCCESSFUL) {
        fail(what);
    }
}

static uint64_t received_frames(void)
{
    struct virtio_netif_statistics statistics;

    LOCK_TCPIP_CORE();
    virtio_netif_statistics(interface, &statistics);
    UNLOCK_TCPIP_CORE();
    return statistics.driver.rx_frames;
}

/* Returns the time of the last tick. */
static uint64_t last_tick(void)
{
    return arm_gt_clock_get_compare_value() - TICK;
}

static rtems_task run_in_task(rtems_task_argument argument)
{
    bool has_server = argument != 0;
    rtems_cbs_parameters parameters = {.deadline = LOOP_PERIOD / TICK, .budget = RESERVED_TICKS};
    rtems_cbs_server_id server;
    static struct loop_result result;

    check(rtems_rate_monotonic_create(rtems_build_name('L', 'O', 'O', 'P'), &period_of_loop),
          "period");
    if (has_server && (rtems_cbs_create_server(&parameters, NULL, &server) != RTEMS_CBS_OK ||
                       rtems_cbs_attach_thread(server, rtems_task_self()) != RTEMS_CBS_OK)) {
        fail("server");
    }
    check(rtems_task_wake_after(1), "tick");
    loop_sleep_until(0); /* starts the first period, and returns at once */
    loop_run(last_tick() + LOOP_PERIOD, VCPU_PERIODS, &result);
    if (has_server && (rtems_cbs_detach_thread(server, rtems_task_self()) != RTEMS_CBS_OK ||
                       rtems_cbs_destroy_server(server) != RTEMS_CBS_OK)) {
        fail("end of the server");
    }
    (void)rtems_rate_monotonic_delete(period_of_loop);
    finished = &result;
    rtems_task_exit();
}

static rtems_id start_task(rtems_name name, rtems_task_priority priority, rtems_task_entry entry,
                           rtems_task_argument argument)
{
    rtems_id task;

    check(rtems_task_create(name, priority, STACK_BYTES, RTEMS_DEFAULT_MODES, RTEMS_FLOATING_POINT,
                            &task),
          "task");
    check(rtems_task_start(task, entry, argument), "start");
    return task;
}

static void run_loop(const char *name, bool has_server)
{
    uint64_t frames = received_frames();

    finished = NULL;
    (void)start_task(rtems_build_name('L', 'O', 'O', 'P'), LOOP_PRIORITY, run_in_task, has_server);
    while (finished == NULL) {
        (void)rtems_task_wake_after(10);
    }
    loop_report(name, (const struct loop_result *)finished, received_frames() - frames);
}

static rtems_task spin(rtems_task_argument argument)
{
    (void)argument;
    for (;;) {
        work(UINT32_MAX);
    }
}

/* Waits for the first datagram. The next ones fill the mailbox, and the rest is dropped. */
static void wait_for_flood(void)
{
    struct netconn *endpoint = netconn_new(NETCONN_UDP);
    struct netbuf *datagram;

    if (endpoint == NULL || netconn_bind(endpoint, IP4_ADDR_ANY, FLOOD_PORT) != ERR_OK) {
        fail("endpoint");
    }
    printf("vcpu: ready for the flood\n");
    if (netconn_recv(endpoint, &datagram) != ERR_OK) {
        fail("datagram");
    }
    netbuf_delete(datagram);
}

static rtems_task Init(rtems_task_argument argument)
{
    const struct virtio_lwip_configuration configuration = {
        .board = &virtio_rtems_qemu_virt,
        .address = IPADDR4_INIT_BYTES(10, 77, 0, 10),
        .netmask = IPADDR4_INIT_BYTES(255, 255, 255, 0),
        /* The shortest handler. */
        .interface = {.driver = {.deferred = true, .interrupt_budget = 1}},
    };
    const char *reason;

    (void)argument;
    interface = virtio_lwip_start(&configuration, &reason);
    if (interface == NULL) {
        fail(reason);
    }
    run_loop("edf quiet", false);
    run_loop("cbs quiet", true);
    (void)start_task(rtems_build_name('S', 'P', 'I', 'N'), SPIN_PRIORITY, spin, 0);
    wait_for_flood();
    run_loop("edf flood", false);
    run_loop("cbs flood", true);
    printf("vcpu: end\n");
    exit(0);
}

#define CONFIGURE_CBS_MAXIMUM_SERVERS 2
#define CONFIGURE_APPLICATION_NEEDS_CLOCK_DRIVER
#define CONFIGURE_APPLICATION_NEEDS_CONSOLE_DRIVER
#define CONFIGURE_MICROSECONDS_PER_TICK TICK_MICROSECONDS
#define CONFIGURE_UNLIMITED_OBJECTS
#define CONFIGURE_UNIFIED_WORK_AREAS
#define CONFIGURE_MAXIMUM_FILE_DESCRIPTORS 8
#define CONFIGURE_RTEMS_INIT_TASKS_TABLE
#define CONFIGURE_INIT_TASK_PRIORITY   20
#define CONFIGURE_INIT_TASK_STACK_SIZE (16 * 1024)
#define CONFIGURE_INIT_TASK_ATTRIBUTES RTEMS_FLOATING_POINT
#define CONFIGURE_INIT
#include <rtems/confdefs.h>
