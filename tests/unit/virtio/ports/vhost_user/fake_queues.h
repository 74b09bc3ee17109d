/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared memory and the virtqueues, as the tests' back-end sees them: the model of the rings in
 * hardware_models/virtio, with chains of one descriptor. */
#ifndef TESTS_VHOST_USER_FAKE_QUEUES_H
#define TESTS_VHOST_USER_FAKE_QUEUES_H

#include "fake_socket.h"
#include "hardware_models/virtio/ring.h"
#include <stdbool.h>
#include <stdint.h>

struct fake_memory {
    uint64_t guest_address, user_address, bytes;
    uint8_t *region; /* NULL: none is shared */
};

struct fake_queue {
    struct ring ring;
    struct ring_memory access;
    int kick, call, error; /* -1: none */
    bool enabled;
};

void fake_close(int *descriptor);

/* Takes over the memory of SET_MEM_TABLE. */
void fake_map(struct fake_memory *memory, const struct message *message);
void fake_unmap(struct fake_memory *memory);

void fake_forget_queue(struct fake_queue *queue);
/* SET_VRING_ADDR, whose addresses are in the memory that the front-end has shared. */
void fake_set_address(struct fake_queue *queue, struct fake_memory *memory,
                      const struct message *message);

/* Each frame of the first queue comes back on the second one, if that has a buffer. Returns how
 * many there were. */
unsigned fake_send_back(const struct fake_memory *memory, struct fake_queue *from,
                        struct fake_queue *to);

#endif
