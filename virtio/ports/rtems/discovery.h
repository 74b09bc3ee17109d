/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a board's virtio network devices and connects their interrupts, by RTEMS's interrupt
 * manager, to a driver. The same calls as on our own kernel, so that ports/lwip runs on both.
 * Thread context.
 */
#ifndef VIRTIO_PORT_DISCOVERY_H
#define VIRTIO_PORT_DISCOVERY_H

#include "board.h"
#include "ecam.h"
#include "kernel/result.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/pci.h"
#include <rtems.h>

struct virtio_network_device {
    struct virtio_transport *transport; /* of one of the two below */
    const char *bus;                    /* "mmio" or "pci" */
    const char *interrupts;             /* "line" */
    struct virtio_net *volatile net;    /* whom the handler calls; NULL: nobody */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    struct virtio_pci_function function; /* bytes of all BARs 0: MMIO */
    bool is_pci;
    uintptr_t registers; /* MMIO */
    size_t register_bytes;
    rtems_vector_number vector;
    volatile bool masked; /* by the handler, until the bottom half has run */
};

/*
 * The board's network device number `index` (0: the first), those on PCI before those with
 * memory-mapped registers: where PCI has it, windows of which a partition has none are not touched.
 * `device` must stay where it is. RESULT_NOT_FOUND. Devices that are there but
 * can't be driven are reported on the console and not counted.
 */
enum result virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                                struct virtio_network_device *device);

/* Its interrupts go to `net` from now on (NULL: to nobody). Those that came before may be lost: run
 * virtio_net_interrupt() and the bottom half once. RESULT_INVALID: RTEMS refused the handler. */
enum result virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net);
/* The bottom half has run: lets interrupts through that were masked because there were too many. */
void virtio_network_attend(struct virtio_network_device *device);
/* For a device that was reset as a whole: it can be reached again. RESULT_NOT_FOUND: it is not
 * there (yet). */
enum result virtio_network_restore(struct virtio_network_device *device);
/* Finds out anew what it is; it has no driver. False: *reason says why it can't be driven (NULL: it
 * is no network device any more). */
bool virtio_network_probe(struct virtio_network_device *device, const char **reason);

#endif
