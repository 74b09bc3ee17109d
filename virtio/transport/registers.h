/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the probes and what all transports of registers have in common. */
#ifndef VIRTIO_TRANSPORT_REGISTERS_H
#define VIRTIO_TRANSPORT_REGISTERS_H

#include "virtio/transport.h"

enum virtio_registers {
    VIRTIO_REGISTERS_MMIO,
    VIRTIO_REGISTERS_LEGACY_MMIO,
    VIRTIO_REGISTERS_PCI,
    VIRTIO_REGISTERS_LEGACY_PCI,
};

/* The transport has `bytes` of registers there; `config`, and for PCI `notify` and `cause`, are the
 * caller's to fill in. */
void virtio_registers_init(struct virtio_transport *transport, enum virtio_registers kind,
                           virtio_register registers, uint32_t bytes);

#endif
