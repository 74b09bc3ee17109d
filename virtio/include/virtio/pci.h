/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtio over PCI (VIRTIO 1.3, 4.1): the modern interface, found by its vendor capabilities, and
 * the legacy one in BAR 0 (4.1.4.10). A transitional device has both. */
#ifndef VIRTIO_PCI_H
#define VIRTIO_PCI_H

#include "virtio/transport.h"

#define VIRTIO_PCI_VENDOR 0x1af4u

struct virtio_pci {
    struct virtio_transport transport;
    struct virtio_pci_function *function;
};

/*
 * Looks at a function's vendor capabilities, and if they lead nowhere for the legacy interface.
 * Decoding and bus mastering are switched on.
 *
 * `vectors`: how many MSI-X vectors, from 0 up, the caller has routed to handlers, with MSI-X
 * enabled. 0: the interrupt line is used. A network driver uses up to three (see virtio/net.h).
 *
 * True: *pci is ready for a driver. False with *reason NULL: not a virtio device. False with a
 * text: one that this library can't drive, and why.
 */
bool virtio_pci_probe(struct virtio_pci *pci, struct virtio_pci_function *function,
                      uint16_t vectors, const char **reason);

/* The same for the legacy interface alone, which the standard's devices need not have. */
bool virtio_pci_probe_legacy(struct virtio_pci *pci, struct virtio_pci_function *function,
                             uint16_t vectors, const char **reason);

#endif
