/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtio network driver for RTEMS's legacy BSD stack (rtems-net-legacy, or the one in RTEMS up
 * to 5), after "Design and Implementation of virtio-net for RTEMS", section 3: the interrupt
 * handler moves descriptors between the virtqueues and the interface's queues and signals one task,
 * the bottom half. The receive buffers are mbuf clusters.
 *
 *     static struct rtems_bsdnet_ifconfig interface = {
 *         .name = "vtn1", .attach = virtio_bsdnet_attach, .ip_address = "10.77.0.10",
 *         .ip_netmask = "255.255.255.0",
 *     };
 *
 * That stack works with pointers of 32 bits only: BSPs such as arm/... or aarch64/a53_ilp32_qemu.
 *
 * The unit number selects the device: 1 is the board's first. Other fields of the configuration:
 *
 * - drv_ctrl: const struct virtio_rtems_board *; NULL: virtio_rtems_qemu_virt.
 * - hardware_address: 6 bytes; NULL: the device's address, or a generated one.
 * - mtu: at most the device's; 0: the device's, but at most 1500. A device with a larger one is
 *   reported on the console.
 * - rbuf_count: number of clusters exposed to the device; 0: 8 to 32, following the device's need,
 *   but at most a sixteenth of the stack's clusters. The interrupt handler cannot allocate, so as
 *   many clusters again (at most 32) and 12 more are reserved for it.
 * - xbuf_count: size of the transmit ring, and the maximum number of frames with the device; 0: 64.
 * - ignore_broadcast: the device drops broadcast frames.
 */
#ifndef VIRTIO_BSDNET_H
#define VIRTIO_BSDNET_H

#include "virtio/net.h"

struct rtems_bsdnet_ifconfig;

/*
 * The attach function for rtems_bsdnet_ifconfig. Attaching finds the device, starts it and adds the
 * interface. Returns 0 if there is no such device or it cannot be driven, with the reason on the
 * console. Detaching stops the device; the interface stays in the stack's list, down, until it is
 * attached again, because the stack cannot remove interfaces. The stack calls this function with
 * its semaphore held.
 */
int virtio_bsdnet_attach(struct rtems_bsdnet_ifconfig *config, int attaching);

/* Returns the counters of an interface since the last start of its driver, and the number of
 * restarts of a failed device. Returns false if the interface does not run. Thread context. */
bool virtio_bsdnet_statistics(int unit, struct virtio_net_statistics *statistics,
                              uint32_t *restarts);

#endif
