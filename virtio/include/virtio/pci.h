/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtio over PCI (VIRTIO 1.3, 4.1): the modern interface, found by its vendor capabilities, and
 * the legacy interface in BAR 0 (4.1.4.10). A transitional device has both. */
#ifndef VIRTIO_PCI_H
#define VIRTIO_PCI_H

#include "virtio/transport.h"

#define VIRTIO_PCI_VENDOR 0x1af4u

struct virtio_pci {
    struct virtio_transport transport;
    struct virtio_pci_function *function;
};

/*
 * Probes a function for the modern interface, and if it has none for the legacy interface. Switches
 * decoding and bus mastering on.
 *
 * `vectors`: the number of MSI-X vectors, from 0 up, that the caller has routed to handlers, with
 * MSI-X enabled; 0: the interrupt line is used. A network driver uses up to two for each queue pair
 * and one more (see virtio/net.h).
 *
 * Returns true if *pci is ready for a driver. Returns false with *reason NULL if the function is no
 * virtio device, and false with a static text in *reason if this library can't drive the device.
 * Thread context.
 */
bool virtio_pci_probe(struct virtio_pci *pci, struct virtio_pci_function *function,
                      uint16_t vectors, const char **reason);

/* As virtio_pci_probe(), but for the legacy interface alone, which modern devices lack. */
bool virtio_pci_probe_legacy(struct virtio_pci *pci, struct virtio_pci_function *function,
                             uint16_t vectors, const char **reason);

#endif
