/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comes before the library's own virtio/barrier.h, which it takes over, in the device tests: what
 * is stored into memory that QEMU sees is shown to the rule checker first (rules.h), while the
 * device can't act on it yet.
 */
#ifndef TESTS_DEVICE_BARRIER_H
#define TESTS_DEVICE_BARRIER_H

#define virtio_shared_store16 virtio_unwatched_store16
#include "../../../../virtio/include/virtio/barrier.h"
#undef virtio_shared_store16

void rules_store16(const uint16_t *shared, uint16_t value);

static inline void virtio_shared_store16(uint16_t *shared, uint16_t value)
{
    rules_store16(shared, value);
    virtio_unwatched_store16(shared, value);
}

#endif
