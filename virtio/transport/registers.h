/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to transport/: declarations of registers.c for the probes (mmio.c, pci.c). */
#ifndef VIRTIO_TRANSPORT_REGISTERS_H
#define VIRTIO_TRANSPORT_REGISTERS_H

#include "virtio/transport.h"

enum virtio_registers {
    VIRTIO_REGISTERS_MMIO,
    VIRTIO_REGISTERS_LEGACY_MMIO,
    VIRTIO_REGISTERS_PCI,
    VIRTIO_REGISTERS_LEGACY_PCI,
};

/* Fills in a transport of `kind` with `bytes` of registers at `registers`. The caller fills in
 * `config`, and for modern PCI `notify` and `cause`. */
void virtio_registers_init(struct virtio_transport *transport, enum virtio_registers kind,
                           virtio_register registers, uint32_t bytes);

#endif
