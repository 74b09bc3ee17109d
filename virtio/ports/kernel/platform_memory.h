/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library has of the kernel's memory: virtio/platform.h's allocations, as many bytes as it
 * asked for. Receive buffers and packets are the network port's (virtio/ports/lwip).
 */
#ifndef VIRTIO_PORT_PLATFORM_MEMORY_H
#define VIRTIO_PORT_PLATFORM_MEMORY_H

#include "virtio/platform.h"

struct virtio_platform_memory {
    size_t private_bytes;
    size_t shared_bytes; /* with devices */
};

/* Of all devices together, now. Any context. */
void virtio_platform_memory(struct virtio_platform_memory *memory);

#endif
