/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single accesses to memory shared with a device, and barriers between them. The device may change
 * this memory at any time: each access below is exactly one load or store, which the compiler can
 * neither repeat, split nor omit (64 bits: only if the processor has such accesses). Any context.
 *
 * The barriers order normal memory between processors, which suffices for a device in software. A
 * hardware device that needs stronger barriers offers VIRTIO_F_ORDER_PLATFORM (VIRTIO 1.3, 6). The
 * platform provides these barriers.
 */
#ifndef VIRTIO_BARRIER_H
#define VIRTIO_BARRIER_H

#include "virtio/endian.h"
#include "virtio/platform.h"
#include <stdatomic.h>
#include <stdint.h>

#define DEFINE_SHARED_ACCESS(bits)                                                             \
    static inline uint##bits##_t virtio_shared_load##bits(const uint##bits##_t *shared)        \
    {                                                                                          \
        return virtio_le##bits(__atomic_load_n(shared, __ATOMIC_RELAXED));                     \
    }                                                                                          \
    static inline void virtio_shared_store##bits(uint##bits##_t *shared, uint##bits##_t value) \
    {                                                                                          \
        __atomic_store_n(shared, virtio_le##bits(value), __ATOMIC_RELAXED);                    \
    }
/* NOLINTBEGIN(readability-non-const-parameter): the builtin writes to it */
DEFINE_SHARED_ACCESS(16)
DEFINE_SHARED_ACCESS(32)
DEFINE_SHARED_ACCESS(64)
/* NOLINTEND(readability-non-const-parameter) */

/*
 * PUBLISH: earlier stores are visible to the device before later ones: a ring entry before the
 * index that publishes it (VIRTIO 1.3, 2.7.13.3.1, 2.8.21.1.1).
 *
 * OBSERVE: later loads see at least what the device wrote before the value that was loaded last: a
 * used element after the index that announces it (2.7.14, 2.8.22).
 *
 * FULL: earlier stores are visible before later loads are made. Driver and device both need it
 * wherever each writes a word and then reads the other's: the driver between publishing an index
 * and reading whether to notify (2.7.13.4.1, 2.8.21.3.1), and between enabling interrupts and
 * reading the ring once more (2.7.7, 2.8.22).
 */
static inline void virtio_barrier(enum virtio_barrier barrier, bool order_platform)
{
    if (order_platform) {
        virtio_platform_barrier(barrier);
    } else if (barrier == VIRTIO_BARRIER_FULL) {
        atomic_thread_fence(memory_order_seq_cst);
    } else if (barrier == VIRTIO_BARRIER_PUBLISH) {
        atomic_thread_fence(memory_order_release);
    } else {
        atomic_thread_fence(memory_order_acquire);
    }
}

#endif
