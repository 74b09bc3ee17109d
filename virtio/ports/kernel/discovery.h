/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the machine's virtio devices, on the devicetree's "virtio,mmio" nodes and on PCI, and
 * connects their interrupts to a network driver. Thread context, after pci_init().
 */
#ifndef VIRTIO_PORT_DISCOVERY_H
#define VIRTIO_PORT_DISCOVERY_H

#include "kernel/interrupt.h"
#include "kernel/pci.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/pci.h"

struct virtio_network_device {
    struct virtio_transport *transport; /* of one of the two below */
    const char *bus;                    /* "mmio" or "pci" */
    const char *interrupts;             /* "line", "MSI-X": how they arrive */
    struct virtio_net *volatile net;    /* whom the handlers call; NULL: nobody */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    uintptr_t registers; /* MMIO */
    size_t register_bytes;
    struct pci_function *function; /* NULL: MMIO */
    uint32_t number[2];            /* of the line, or of the vectors */
    enum interrupt_trigger trigger;
    volatile uint8_t masked; /* bit i: number[i] is */
};

/*
 * The network device number `index` (0: the first), those on the devicetree's nodes before those on
 * PCI, each in their order. `device` must stay where it is. RESULT_NOT_FOUND. Devices that are
 * there but can't be driven are reported on the console and not counted.
 */
enum result virtio_find_network(unsigned index, struct virtio_network_device *device);

/* Its interrupts go to `net` from now on (NULL: to nobody, and they are masked). Those that came
 * before may be lost: run the bottom half once. What interrupt_attach() answers. */
enum result virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net);

/* The bottom half has run: lets interrupts through that were masked because there were too many. */
void virtio_network_attend(struct virtio_network_device *device);

/*
 * For a device that was reset as a whole, or was away: it can be reached again. Its driver is still
 * the old one, which is to be stopped. Nobody is connected. RESULT_NOT_FOUND: it is not there
 * (yet).
 */
enum result virtio_network_restore(struct virtio_network_device *device);
/* Finds out anew what it is and how it interrupts; it has no driver. False: *reason says why it
 * can't be driven (NULL: it is no network device any more). */
bool virtio_network_probe(struct virtio_network_device *device, const char **reason);

#endif
