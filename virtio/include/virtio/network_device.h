/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network device, as a port to a network stack sees it. Each system implements these functions
 * and defines the structure. Thread context.
 */
#ifndef VIRTIO_NETWORK_DEVICE_H
#define VIRTIO_NETWORK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if a PCI function is a virtio network device, transitional or modern (VIRTIO 1.3,
 * 4.1.2.1). `ids`: its first register, the device id above the vendor id. */
static inline bool virtio_is_network_function(uint32_t ids)
{
    return ids == UINT32_C(0x10001af4) || ids == UINT32_C(0x10411af4);
}

struct virtio_net;
struct virtio_network_device;
struct virtio_transport;

/* Returns the transport by which the device was found, or probed again. */
struct virtio_transport *virtio_network_transport(struct virtio_network_device *device);

/* Connects the device's interrupts to `net`; NULL disconnects and masks them. Afterwards no handler
 * uses the driver that was connected before, which may be freed. Interrupts from before the
 * connection may be lost, so the caller calls virtio_net_interrupt() and runs the bottom half once.
 * Returns false if the handler could not be attached. */
bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net);

/* Unmasks the interrupts that were masked because there were too many. Call it after
 * virtio_net_bottom_half(). */
void virtio_network_rearm(struct virtio_network_device *device);

/*
 * Makes the registers of a device accessible again after it was reset from outside or removed. The
 * old driver still exists, but is disconnected. Returns false if the device is not present (yet).
 */
bool virtio_network_restore(struct virtio_network_device *device);

/* Probes the device again: its registers and its interrupts. No driver exists. Returns false if it
 * cannot be driven, with the reason in *reason; NULL if the device is no longer a network device.
 */
bool virtio_network_probe(struct virtio_network_device *device, const char **reason);

#endif
