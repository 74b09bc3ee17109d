/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses to descriptors, which the device reads and, in packed rings, also writes. They depend on
 * the processor:
 *   - 64 bits (descriptor_whole.h): each access is half a descriptor. The flags of a packed
 *     descriptor become visible together with the other fields of that half, and need no access of
 *     their own;
 *   - 32 bits (descriptor_apart.h): the processor has no 64-bit accesses (a compiler would call
 *     libatomic, whose lock a device does not take). The flags of a packed descriptor are written
 *     after all other fields, and read before all other fields (VIRTIO 1.3, 2.8). Descriptors of
 *     split rings are written with plain stores, because the device does not read them before the
 *     available index.
 *
 * VIRTQUEUE_DESCRIPTORS_APART selects the second on any processor, for tests.
 *
 * Both define:
 *
 * Writes a descriptor of a split ring or of an indirect table; `next` is unused there (2.8.19).
 *     void descriptor_write(struct virtqueue_descriptor *descriptor, uint64_t address,
 *                           uint64_t rest);
 * The same, but a word that already has its value is not written, so that its cache line stays
 * shared by both sides.
 *     void descriptor_update(struct virtqueue_descriptor *descriptor, uint64_t address,
 *                            uint64_t rest);
 *
 * A descriptor of a packed ring is written in two steps: all fields that the flags make available,
 * and then the flags (2.8.21.1.1). If the device may already read the descriptor, there is a
 * barrier between the steps.
 *
 *     void descriptor_fill(struct virtqueue_descriptor *descriptor, uint64_t address,
 *                          uint64_t rest);
 *     void descriptor_announce(struct virtqueue_descriptor *descriptor, uint64_t rest);
 *
 * Returns the flags of a descriptor of a packed ring.
 *     unsigned descriptor_flags(const struct virtqueue_descriptor *descriptor);
 *
 * A used descriptor of a packed ring is read in two steps as well, with a barrier between them
 * (2.8.22). The first returns the flags; after both, item->address is the buffer id and item->bytes
 * the length.
 *     unsigned descriptor_look(const struct virtqueue_descriptor *descriptor,
 *                              struct virtqueue_item *item);
 *     void descriptor_read(const struct virtqueue_descriptor *descriptor,
 *                          struct virtqueue_item *item);
 */
#ifndef VIRTIO_VIRTQUEUE_DESCRIPTOR_H
#define VIRTIO_VIRTQUEUE_DESCRIPTOR_H

#include "virtio/barrier.h"
#include "virtio/virtqueue.h"
#include "virtio/virtqueue_layout.h"

#if UINTPTR_MAX > UINT32_MAX && !defined(VIRTQUEUE_DESCRIPTORS_APART)
#include "descriptor_whole.h"
#else
#include "descriptor_apart.h"
#endif

#endif
