/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the two halves of the PCI transport. */
#ifndef VIRTIO_TRANSPORT_PCI_PRIVATE_H
#define VIRTIO_TRANSPORT_PCI_PRIVATE_H

#include "virtio/pci.h"

/* Bytes of struct virtio_pci_common_cfg up to queue_device, which every modern device has
 * (4.1.4.3). */
#define VIRTIO_PCI_COMMON_BYTES 0x38u

extern const struct virtio_transport_operations virtio_pci_operations;

#endif
