/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pool of a device: the only memory that it may access, a child of /reserved-memory that the
 * property "memory-region" of the device's node names (Linux binding "restricted-dma-pool"). The
 * kernel uses reserved memory for nothing else (boot/memory_map.h). Thread context.
 */
#ifndef VIRTIO_PORT_DEVICE_POOL_H
#define VIRTIO_PORT_DEVICE_POOL_H

#include "virtio/pool.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct virtio_device_pool {
    bool exists; /* false: the device may access all memory */
    struct virtio_pool pool;
};

/* Finds and maps the pool of the device on `node`. Returns false if it can't be used, with the
 * reason in *reason. It is empty afterwards, so no driver may use it meanwhile. */
bool virtio_device_pool_find(int node, struct virtio_device_pool *pool, const char **reason);

/* Gives the pool, if there is one, to the transport's driver. Call it after each probe, which
 * forgets it. */
void virtio_device_pool_use(struct virtio_device_pool *pool, struct virtio_transport *transport);

#endif
