/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtio over memory-mapped registers (VIRTIO 1.3, 4.2), version 2 and 1 (legacy, 4.2.4). One
 * interrupt line. */
#ifndef VIRTIO_MMIO_H
#define VIRTIO_MMIO_H

#include "virtio/transport.h"

struct virtio_mmio {
    struct virtio_transport transport;
};

/*
 * Looks at the `bytes` of registers at `base` (from the devicetree). True: *mmio is ready for a
 * driver. False with *reason NULL: no device there, which is normal (DeviceID 0, 4.2.2.2). False
 * with a text: there is something this library can't drive, and why. The device is not changed.
 */
bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register base, size_t bytes,
                       const char **reason);

#endif
