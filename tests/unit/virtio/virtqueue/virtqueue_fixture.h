/* SPDX-License-Identifier: BSD-2-Clause */
/* One virtqueue without a driver around it, the fake device at its other end. */
#ifndef TESTS_VIRTIO_VIRTQUEUE_FIXTURE_H
#define TESTS_VIRTIO_VIRTQUEUE_FIXTURE_H

#include "fake.h"
#include "virtio/virtqueue.h"

struct virtqueue_fixture {
    struct fake_device device; /* the queue is its number 0 */
    struct virtqueue queue;
    uint8_t memory[64][64]; /* what the segments point to; the rows are the tokens */
};

/* Creates the queue and makes it known to a new device that accepted `features`. */
void fixture_begin(struct virtqueue_fixture *fixture, uint16_t size, uint64_t features,
                   uint16_t tables, uint16_t entries);
/* The device, after a reset of the queue, learns of it again. */
void fixture_restart(struct virtqueue_fixture *fixture);
/* Detaches what is in flight and destroys the queue; checks that nothing stays behind. */
void fixture_end(struct virtqueue_fixture *fixture);
struct virtqueue_segment fixture_segment(struct virtqueue_fixture *fixture, unsigned which,
                                         uint32_t bytes);
/* A chain of rows from `which` on, of 8, 9, 10 ... bytes, with row `which` as its token. False: not
 * accepted. At most 64 segments. With the argument "batch" single ones go through
 * virtqueue_add_batch(), and what is taken through virtqueue_take_batch(). */
bool fixture_add(struct virtqueue_fixture *fixture, unsigned which, unsigned readable,
                 unsigned writable);
void *fixture_take(struct virtqueue_fixture *fixture, uint32_t *bytes);

#endif
