/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A minimal virtio device, written from the standard (VIRTIO 1.3, 2.7 and 2.8): the device side of
 * both ring formats, with the barriers that it needs, over weak_memory.h. It answers a request with
 * the request's number plus 1. It shares the rings' layout with the model in
 * hardware_models/virtio, but not the accesses, because the explorer has to see each of them.
 */
#ifndef TESTS_MEMORY_ORDER_DEVICE_H
#define TESTS_MEMORY_ORDER_DEVICE_H

#include "virtio/transport.h"
#include "weak_memory.h"

#define DEVICE_REPLY 55u

struct device_chain {
    uint64_t *request; /* readable; if NULL, the reply is DEVICE_REPLY */
    uint64_t *reply;   /* writable */
    uint16_t id;
    uint16_t descriptors;
};

/* Attaches the device to a queue with this setup and these features, before the threads start. */
void device_attach(const struct virtio_queue_setup *setup, uint64_t features);
/* Declares the ring's words as shared to the explorer. The last call before the threads start. */
void device_share(void);

/* Takes the next chain. Returns false if the device sees none. */
bool device_take(struct device_chain *chain);
/* Blocks until a chain may be available. */
void device_await(void);
/* Reads the requests, and writes the replies and one used entry, which stands for `count` chains:
 * more than one need IN_ORDER (2.7.9, 2.8.8). */
void device_finish(const struct device_chain *chain, unsigned count);
/* Returns true if the driver wants an interrupt for the chains finished since the last call
 * (2.7.10, 2.8.10). */
bool device_interrupts(void);
/* Enables notifications and checks the ring again. Returns false if a chain is available. */
bool device_may_sleep(void);
/* Disables notifications. */
void device_wakes(void);

/* Replaces the driver's polling: blocks until the device has finished more than `finished` chains
 * (split) or descriptors (packed). */
void device_await_finished(uint16_t finished);

#endif
