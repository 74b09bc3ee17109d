/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the library's virtio/barrier.h with functions of the same names that use weak_memory.h.
 * A barrier is identified by the function that contains it, so that a test can remove one at a
 * time.
 */
#ifndef VIRTIO_BARRIER_H
#define VIRTIO_BARRIER_H

#include "virtio/endian.h"
#include "virtio/platform.h"
#include "weak_memory.h"

static inline uint16_t virtio_shared_load16(const uint16_t *shared)
{
    return (uint16_t)model_load(shared, 2);
}

static inline uint32_t virtio_shared_load32(const uint32_t *shared)
{
    return (uint32_t)model_load(shared, 4);
}

static inline uint64_t virtio_shared_load64(const uint64_t *shared)
{
    return model_load(shared, 8);
}

static inline void virtio_shared_store16(uint16_t *shared, uint16_t value)
{
    model_store(shared, 2, value);
}

static inline void virtio_shared_store32(uint32_t *shared, uint32_t value)
{
    model_store(shared, 4, value);
}

static inline void virtio_shared_store64(uint64_t *shared, uint64_t value)
{
    model_store(shared, 8, value);
}

void model_barrier(enum virtio_barrier barrier, const char *function);

#define virtio_barrier(barrier, order_platform) \
    ((void)(order_platform), model_barrier((barrier), __func__))

#endif
