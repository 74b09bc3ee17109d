/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that an untrusted device may access, if that is only a part of the driver's memory
 * (Linux: restricted-dma-pool). The device reads and writes all of it at any time. So rings,
 * commands and the data of frames and requests lie in it, and no record of the driver: a driver
 * copies data out of the pool before it parses them (docs/decisions/0097-pools.md).
 *
 * One device has a pool. Its driver uses it through virtio_transport.pool. Thread context, and one
 * caller at a time for all functions with the same pool.
 */
#ifndef VIRTIO_POOL_H
#define VIRTIO_POOL_H

#include "virtio/platform.h"
#include <stddef.h>

/* Bytes, 256 KiB. The smallest pool that each driver of this library works with. */
#define VIRTIO_POOL_BYTES_MIN 0x40000u

/* Bytes. Alignment of a pool, and the largest alignment of memory allocated from it. */
#define VIRTIO_POOL_ALIGNMENT 4096u

struct virtio_pool_piece; /* private to pool/ */

/* The members are private to pool/, and visible so that a pool can be embedded. */
struct virtio_pool {
    uint8_t *memory;
    size_t bytes;
    struct virtio_pool_piece *pieces; /* allocated ones, by rising addresses, in private memory */
};

/* Makes a pool of `memory`: mapped, cacheable, aligned to VIRTIO_POOL_ALIGNMENT, and
 * virtio_platform_dma_address() knows it. The memory is not accessed. */
void virtio_pool_init(struct virtio_pool *pool, void *memory, size_t bytes);

/* Returns the number of bytes that are not allocated, in all gaps together. */
size_t virtio_pool_free_bytes(const struct virtio_pool *pool);

/*
 * Allocates memory shared with the device, as virtio_platform_dma_allocate() does: from `pool`, or,
 * if that is NULL, from the platform. No two allocations from a pool share a cache line. Returns
 * NULL when the pool or the platform's private memory is exhausted, or if `bytes` is 0 or
 * `alignment` larger than VIRTIO_POOL_ALIGNMENT.
 */
void *virtio_dma_allocate(struct virtio_pool *pool, size_t bytes, size_t alignment,
                          virtio_address *address);
/* Frees memory that virtio_dma_allocate() returned for the same pool and number of bytes. If it is
 * no piece of the pool, logs its address and frees nothing. */
void virtio_dma_free(struct virtio_pool *pool, void *memory, size_t bytes);

#endif
