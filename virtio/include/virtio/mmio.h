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
 * Probes `bytes` of registers at `base` (both from the devicetree), without changing the device.
 * Returns true if *mmio is ready for a driver. Returns false with *reason NULL if there is no
 * device, which is normal (DeviceID 0, 4.2.2.2), and false with a static text in *reason if this
 * library can't drive the device. Thread context.
 */
bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register base, size_t bytes,
                       const char **reason);

#endif
