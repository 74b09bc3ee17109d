/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtio network driver for RTEMS's legacy BSD stack (rtems-net-legacy, or the one in RTEMS up
 * to 5), after "Design and Implementation of virtio-net for RTEMS", section 3: the interrupt
 * handler moves descriptors between the virtqueues and the interface's queues and signals one task,
 * the bottom half; mbuf clusters are what the device receives into.
 *
 *     static struct rtems_bsdnet_ifconfig interface = {
 *         .name = "vtn1", .attach = virtio_bsdnet_attach, .ip_address = "10.77.0.10",
 *         .ip_netmask = "255.255.255.0",
 *     };
 *
 * That stack works with pointers of 32 bits only: BSPs such as arm/... or aarch64/a53_ilp32_qemu.
 *
 * The unit number tells which device: 1 is the board's first. Other fields of the configuration:
 *     drv_ctrl          const struct virtio_rtems_board *; NULL: virtio_rtems_qemu_virt
 *     hardware_address  6 bytes; NULL: the device's own, or one made up if it has none
 *     mtu               at most the device's; 0: the device's, at most 1500
 *     rbuf_count        clusters exposed to the device; 0: 8, and when it runs dry up to 32, as
 *                       long as that is no more than a sixteenth of the stack's. As many, at most
 *                       32, and 12 are set aside for the interrupt handler, which cannot allocate
 *     xbuf_count        frames with the device at once, and its ring; 0: 64
 *     ignore_broadcast
 */
#ifndef VIRTIO_BSDNET_H
#define VIRTIO_BSDNET_H

#include "virtio/net.h"

struct rtems_bsdnet_ifconfig;

/*
 * For rtems_bsdnet_ifconfig. Attaching finds the device, starts it and adds the interface; 0: there
 * is no such device, or it cannot be driven (the console says why). Detaching takes the device
 * away from the interface, which stays in the stack's list, down, until it is attached again: that
 * stack cannot remove one. The stack calls it and holds its semaphore.
 */
int virtio_bsdnet_attach(struct rtems_bsdnet_ifconfig *config, int attaching);

/* Counters of the interface with this unit number since the driver was last started, and how often
 * it was started again because the device failed. False: it does not run. Thread context. */
bool virtio_bsdnet_statistics(int unit, struct virtio_net_statistics *statistics,
                              uint32_t *restarts);

#endif
