/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses to descriptors, which the device reads and, in packed rings, also writes. The processor
 * decides how they are made:
 *   - of 64 bits (descriptor_whole.h): half a descriptor at a time. A packed descriptor's flags
 *     can't be seen without what they announce, and cost no access of their own;
 *   - of 32 bits (descriptor_apart.h): such a processor has no accesses of 64 bits (a compiler
 *     would call libatomic, whose lock no device takes). The flags of a packed descriptor are
 *     written after everything else and read before everything else (VIRTIO 1.3, 2.8), and the
 *     descriptors of split rings with plain stores: nobody reads them before the available index.
 *
 * VIRTQUEUE_DESCRIPTORS_APART chooses the second on any processor, for tests.
 *
 * Both define:
 *
 * Writes a descriptor of a split ring or of an indirect table; `next` is unused there (2.8.19).
 *     void descriptor_write(struct virtqueue_descriptor *descriptor, uint64_t address,
 *                           uint64_t rest);
 * The same, but a word that has its value already is not written, so that its cache line stays with
 * both sides.
 *     void descriptor_update(struct virtqueue_descriptor *descriptor, uint64_t address,
 *                            uint64_t rest);
 *
 * A descriptor of a packed ring is written in two steps, with a barrier between them if the device
 * may already look at it: what the flags announce, and then the flags (2.8.21.1.1).
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

#include "layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

#if UINTPTR_MAX > UINT32_MAX && !defined(VIRTQUEUE_DESCRIPTORS_APART)
#include "descriptor_whole.h"
#else
#include "descriptor_apart.h"
#endif

#endif
