/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the library's virtio/barrier.h in the device tests. The rule checker (rules.h) sees each
 * store into memory shared with QEMU before the device can act on it.
 */
#ifndef TESTS_DEVICE_BARRIER_H
#define TESTS_DEVICE_BARRIER_H

#define virtio_shared_store16 virtio_unwatched_store16
#define virtio_shared_store32 virtio_unwatched_store32
#define virtio_shared_store64 virtio_unwatched_store64
#include_next "virtio/barrier.h"
#undef virtio_shared_store16
#undef virtio_shared_store32
#undef virtio_shared_store64

void rules_store16(const uint16_t *shared, uint16_t value);
void rules_store32(const uint32_t *shared, uint32_t value);
/* Returns the value to store, which is `value` unless a case changes it. */
uint64_t rules_store64(const uint64_t *shared, uint64_t value);

static inline void virtio_shared_store16(uint16_t *shared, uint16_t value)
{
    rules_store16(shared, value);
    virtio_unwatched_store16(shared, value);
}

static inline void virtio_shared_store32(uint32_t *shared, uint32_t value)
{
    rules_store32(shared, value);
    virtio_unwatched_store32(shared, value);
}

static inline void virtio_shared_store64(uint64_t *shared, uint64_t value)
{
    virtio_unwatched_store64(shared, rules_store64(shared, value));
}

#endif
