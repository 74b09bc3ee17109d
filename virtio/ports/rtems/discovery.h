/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a board's virtio network devices and connects their interrupts, by RTEMS's interrupt
 * manager, to a driver (network_device.h). Thread context.
 */
#ifndef VIRTIO_PORT_DISCOVERY_H
#define VIRTIO_PORT_DISCOVERY_H

#include "../network_device.h"
#include "board.h"
#include "ecam.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/pci.h"
#include <rtems.h>

struct virtio_network_device {
    struct virtio_transport *transport; /* of one of the two below */
    struct virtio_net *volatile net;    /* whom the handler calls; NULL: nobody */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    struct virtio_pci_function function; /* configuration 0: MMIO */
    uintptr_t registers;                 /* MMIO */
    size_t register_bytes;
    rtems_vector_number vector;
    volatile bool masked; /* by the handler, until the bottom half has run */
};

/*
 * The board's network device number `index` (0: the first), those on PCI before those with
 * memory-mapped registers: where PCI has it, windows of which a partition has none are not touched.
 * `device` must stay where it is. False: there are not so many. Devices that are there but can't be
 * driven are reported on the console and not counted.
 */
bool virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                         struct virtio_network_device *device);

#endif
