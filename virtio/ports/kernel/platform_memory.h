/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that the library has allocated through virtio/platform.h, in bytes as requested.
 * Receive buffers and packets are not included: they belong to the network port
 * (virtio/ports/lwip).
 */
#ifndef VIRTIO_PORT_PLATFORM_MEMORY_H
#define VIRTIO_PORT_PLATFORM_MEMORY_H

#include "virtio/platform.h"

struct virtio_platform_memory {
    size_t private_bytes;
    size_t shared_bytes; /* shared with devices */
};

/* Returns the current sums over all devices in *memory. Any context. */
void virtio_platform_memory(struct virtio_platform_memory *memory);

#endif
