/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests' network device. */
#ifndef TESTS_LWIP_DISCOVERY_H
#define TESTS_LWIP_DISCOVERY_H

#include "virtio/network_device.h"
#include "virtio/transport.h"

struct virtio_network_device {
    struct virtio_transport *transport;
};

#endif
