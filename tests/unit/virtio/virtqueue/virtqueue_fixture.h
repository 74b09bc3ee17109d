/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtqueue without a driver, with the fake device at its other end. */
#ifndef TESTS_VIRTIO_VIRTQUEUE_FIXTURE_H
#define TESTS_VIRTIO_VIRTQUEUE_FIXTURE_H

#include "fake.h"
#include "virtio/virtqueue.h"

struct virtqueue_fixture {
    struct fake_device device; /* the queue has number 0 */
    struct virtqueue queue;
    uint8_t memory[64][64]; /* buffers; the address of a row is the token of its chain */
};

/* Creates the queue and registers it with a new device that accepted `features`. */
void fixture_begin(struct virtqueue_fixture *fixture, uint16_t size, uint64_t features,
                   uint16_t tables, uint16_t entries);
/* Registers the queue with the device again after a reset of the queue. */
void fixture_restart(struct virtqueue_fixture *fixture);
/* Detaches the chains in flight and destroys the queue; checks that nothing leaks. */
void fixture_end(struct virtqueue_fixture *fixture);
struct virtqueue_segment fixture_segment(struct virtqueue_fixture *fixture, unsigned which,
                                         uint32_t bytes);
/* Adds a chain of at most 64 segments: rows from `which` on, of 8, 9, 10 ... bytes, with row
 * `which` as its token. Returns false if the queue refuses it. With the program argument "batch",
 * chains of one segment go through virtqueue_add_batch(), and fixture_take() uses
 * virtqueue_take_batch(). */
bool fixture_add(struct virtqueue_fixture *fixture, unsigned which, unsigned readable,
                 unsigned writable);
void *fixture_take(struct virtqueue_fixture *fixture, uint32_t *bytes);

#endif
