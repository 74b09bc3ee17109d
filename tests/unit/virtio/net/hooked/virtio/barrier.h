/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the library's virtio/barrier.h in test_net_interleaving.c with the same functions.
 * Before each access to shared memory they call a hook in which the test lets the device act.
 */
#ifndef VIRTIO_BARRIER_H
#define VIRTIO_BARRIER_H

#include "virtio/endian.h"
#include "virtio/platform.h"
#include <stdint.h>

void test_shared_access(void);

static inline uint16_t virtio_shared_load16(const uint16_t *shared)
{
    test_shared_access();
    return *(const volatile uint16_t *)shared;
}

static inline uint32_t virtio_shared_load32(const uint32_t *shared)
{
    test_shared_access();
    return *(const volatile uint32_t *)shared;
}

static inline uint64_t virtio_shared_load64(const uint64_t *shared)
{
    test_shared_access();
    return *(const volatile uint64_t *)shared;
}

static inline void virtio_shared_store16(uint16_t *shared, uint16_t value)
{
    test_shared_access();
    *(volatile uint16_t *)shared = value;
}

static inline void virtio_shared_store32(uint32_t *shared, uint32_t value)
{
    test_shared_access();
    *(volatile uint32_t *)shared = value;
}

static inline void virtio_shared_store64(uint64_t *shared, uint64_t value)
{
    test_shared_access();
    *(volatile uint64_t *)shared = value;
}

static inline void virtio_barrier(enum virtio_barrier barrier, bool order_platform)
{
    (void)barrier;
    (void)order_platform;
}

#endif
