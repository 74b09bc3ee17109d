/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network device as its driver's port to a network stack sees it. Whoever finds the machine's
 * devices (discovery.h of each system, which has the structure too) answers these calls. Thread
 * context.
 */
#ifndef VIRTIO_PORT_NETWORK_DEVICE_H
#define VIRTIO_PORT_NETWORK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it is one, by the first register of a PCI function (device above vendor): transitional or
 * modern (VIRTIO 1.3, 4.1.2.1). */
static inline bool virtio_is_network_function(uint32_t ids)
{
    return ids == UINT32_C(0x10001af4) || ids == UINT32_C(0x10411af4);
}

struct virtio_net;
struct virtio_network_device; /* its member `transport` is the device's virtio_transport */

/* Its interrupts go to `net` from now on (NULL: to nobody, and they are masked). Those that came
 * before may be lost: call virtio_net_interrupt() and run the bottom half once. False: the handler
 * could not be attached. */
bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net);

/* The bottom half has run: lets interrupts through that were masked because there were too many. */
void virtio_network_attend(struct virtio_network_device *device);

/*
 * For a device that was reset as a whole, or was away: it can be reached again. Its driver is still
 * the old one, which is to be stopped. Nobody is connected. False: it is not there (yet).
 */
bool virtio_network_restore(struct virtio_network_device *device);

/* Finds out anew what it is and how it interrupts; it has no driver. False: *reason says why it
 * can't be driven (NULL: it is no network device any more). */
bool virtio_network_probe(struct virtio_network_device *device, const char **reason);

#endif
