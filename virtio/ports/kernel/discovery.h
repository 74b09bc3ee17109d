/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the machine's virtio devices, on the devicetree's "virtio,mmio" nodes and on PCI, and
 * connects their interrupts to a network driver. Thread context, after pci_init().
 */
#ifndef VIRTIO_PORT_DISCOVERY_H
#define VIRTIO_PORT_DISCOVERY_H

#include "device_pool.h"
#include "kernel/interrupt.h"
#include "kernel/pci.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/network_device.h"
#include "virtio/pci.h"

struct virtio_network_device {
    struct virtio_transport *transport; /* of the union below */
    const char *bus;                    /* "mmio" or "pci" */
    const char *interrupts;             /* "line" or "MSI-X" */
    struct virtio_net *volatile net;    /* the driver that the handlers call, or NULL */
    bool deferred; /* set before the connection: the handlers only wake the bottom half (net.h),
                      which is the server of interrupt_set_server() */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    uintptr_t registers; /* MMIO */
    size_t register_bytes;
    struct virtio_device_pool pool;
    struct pci_function *function; /* NULL: MMIO */
    uint32_t number[2];            /* interrupt numbers of the line, or of the vectors */
    enum interrupt_trigger trigger;
    volatile uint8_t masked; /* bit i: number[i] is masked */
};

/*
 * Fills in network device number `index` (0: the first): first the devices on nodes of the
 * devicetree, then those on PCI. `device` must not move afterwards. Returns RESULT_NOT_FOUND if
 * there are fewer. A device that cannot be driven is reported on the console and not counted.
 */
enum result virtio_find_network(unsigned index, struct virtio_network_device *device);

#endif
