/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's first virtio entropy device. */
#ifndef VIRTIO_PORT_ENTROPY_H
#define VIRTIO_PORT_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* Reads `bytes` random bytes (> 0) into `data`. Returns false if there is no entropy device, on the
 * devicetree's "virtio,mmio" nodes or on PCI, or if it fails, which is reported on the console.
 * Waits 100 ms at most for the bytes. Thread context, after pci_init(). */
bool virtio_read_entropy(void *data, size_t bytes);

#endif
