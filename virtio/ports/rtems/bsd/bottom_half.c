/* SPDX-License-Identifier: BSD-2-Clause */
/* The bottom half's task: finishes the interrupt handler's work and restarts a failed device. */
#include "bsdnet_private.h"
#include <rtems/bspIo.h>

/* One of the task's system events that the stack does not use. */
#define WAKE_EVENT RTEMS_EVENT_1

#define STACK_BYTES 8192
#define RETRY_MAX   (10 * (rtems_interval)hz)
#define HEALTHY_TIME \
    UINT64_C(10000000000) /* a device that ran this long before it failed is restarted at once */

void bottom_half_wake(void *context)
{
    struct virtio_bsdnet *interface = context;

    if (interface->bottom_half != 0) {
        (void)rtems_bsdnet_event_send(interface->bottom_half, WAKE_EVENT);
    }
}

static void wait_longer(struct virtio_bsdnet *interface)
{
    interface->retry = min(2 * interface->retry, RETRY_MAX);
}

/* Stops a broken device; it is restarted after a pause. */
static void stop_broken(struct virtio_bsdnet *interface)
{
    if (virtio_platform_now() - interface->started >= HEALTHY_TIME) {
        interface->retry = 1;
    } else {
        wait_longer(interface);
    }
    (void)device_stop(interface);
}

/* Lets the stack's task, of the same priority, process the delivered frames. */
static void let_others_run(void)
{
    rtems_bsdnet_semaphore_release();
    (void)rtems_task_wake_after(RTEMS_YIELD_PROCESSOR);
    rtems_bsdnet_semaphore_obtain();
}

/* Handles all pending work of the device. */
static void serve(struct virtio_bsdnet *interface)
{
    bool more;

    do {
        receive_batch(interface);
        transmit_start(&interface->arpcom.ac_if);
        if (virtio_net_link_changed(interface->net) && virtio_net_broken(interface->net) == NULL) {
            device_update_link(interface);
        }
        more = virtio_net_bottom_half(interface->net);
        if (more) {
            let_others_run();
        }
    } while (more && interface->running);
    if (interface->running) {
        virtio_network_rearm(&interface->device);
        if (virtio_net_broken(interface->net) != NULL) {
            stop_broken(interface);
        }
    }
}

static bool is_wanted(const struct virtio_bsdnet *interface)
{
    return interface->attached && (interface->arpcom.ac_if.if_flags & IFF_UP) != 0;
}

/* Tries to restart a failed device; the task repeats this until it succeeds. For a detached device
 * it only takes the memory back. */
static void recover(struct virtio_bsdnet *interface)
{
    if (!is_wanted(interface)) {
        if (interface->net != NULL && !device_stop(interface)) {
            wait_longer(interface);
        }
    } else if (device_start(interface)) {
        interface->restarts++;
        printk("vtn%d: the device was restarted\n", interface->arpcom.ac_if.if_unit);
    } else {
        wait_longer(interface);
    }
}

/* A device that was reset from outside, or removed, does not interrupt, so it is checked once a
 * second. While mbufs are exhausted, they are requested at each tick, so that the device soon has
 * buffers again. */
static rtems_interval patience(const struct virtio_bsdnet *interface)
{
    if (interface->running) {
        return interface->dry ? 1 : (rtems_interval)hz;
    }
    return interface->net != NULL || is_wanted(interface) ? interface->retry : RTEMS_NO_TIMEOUT;
}

static void bottom_half(void *argument)
{
    struct virtio_bsdnet *interface = argument;

    for (;;) {
        rtems_event_set events;
        rtems_status_code status = rtems_bsdnet_event_receive(
            WAKE_EVENT, RTEMS_WAIT | RTEMS_EVENT_ANY, patience(interface), &events);

        if (!interface->running) {
            recover(interface);
            continue;
        }
        if (status == RTEMS_TIMEOUT) {
            virtio_net_watch(interface->net);
        }
        serve(interface);
    }
}

void bottom_half_start(struct virtio_bsdnet *interface)
{
    interface->retry = 1;
    interface->bottom_half = rtems_bsdnet_newproc("vtn", STACK_BYTES, bottom_half, interface);
    bottom_half_wake(interface);
}
