/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a board's virtio network devices, and connects their interrupts to a driver through RTEMS's
 * interrupt manager (network_device.h). Thread context.
 */
#ifndef VIRTIO_PORT_DISCOVERY_H
#define VIRTIO_PORT_DISCOVERY_H

#include "board.h"
#include "ecam.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/network_device.h"
#include "virtio/pci.h"
#include "virtio/pool.h"
#include <rtems.h>
#include <rtems/irq-extension.h>

struct virtio_network_device {
    struct virtio_transport *transport; /* of the union below */
    struct virtio_net *net;             /* the driver that the handler calls, or NULL */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    struct virtio_pci_function function; /* function.configuration is 0: MMIO */
    uintptr_t registers;                 /* MMIO */
    size_t register_bytes;
    struct virtio_pool pool; /* if has_pool */
    bool has_pool;           /* false: the device may access all memory */
    rtems_vector_number vector;
    bool is_edge_triggered; /* the interrupt */
    /* Ours, not allocated by RTEMS: another processor may still read it when it is removed. */
    rtems_interrupt_entry entry;
    unsigned handlers;    /* number of running handlers that use a driver; guarded by the lock */
    volatile bool masked; /* the handler has masked the line, until the bottom half has run */
};

/*
 * Fills in the board's network device number `index` (0: the first): first the devices on PCI, then
 * those with memory-mapped registers, because a partition with a PCI device must not access
 * register windows that it does not have. `device` must not move afterwards. Returns false if there
 * are fewer devices. A device that cannot be driven is reported on the console and not counted.
 */
bool virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                         struct virtio_network_device *device);

#endif
