/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest device there is, written from the standard: its side of both rings (VIRTIO 1.3, 2.7
 * and 2.8) with the barriers it needs, over weak_memory.h. It answers a request with the number
 * after it. It does not use hardware_models/virtio: the explorer has to see each access of the
 * device. */
#ifndef TESTS_MEMORY_ORDER_DEVICE_H
#define TESTS_MEMORY_ORDER_DEVICE_H

#include "virtio/transport.h"
#include "weak_memory.h"

#define DEVICE_REPLY 55u

struct device_chain {
    uint64_t *request; /* readable; NULL: none, and the reply is DEVICE_REPLY */
    uint64_t *reply;   /* writable */
    uint16_t id;
    uint16_t descriptors;
};

/* Before the threads start: `setup` and the features tell where and what. */
void device_attach(const struct virtio_queue_setup *setup, uint64_t features);
/* As the last thing before the threads start: makes the ring's words shared ones. */
void device_share(void);

/* The next chain. False: the device sees none. */
bool device_take(struct device_chain *chain);
/* Blocks until there may be one. */
void device_await(void);
/* Reads the requests, writes the replies and one used entry: for one chain, or with IN_ORDER for
 * several (2.7.9, 2.8.8). */
void device_finish(const struct device_chain *chain, unsigned count);
/* Whether the driver is to be interrupted for what was finished since the last call. */
bool device_interrupts(void);
/* Asks for a notification and looks once more. False: there is something already. */
bool device_may_sleep(void);
/* Wants none for now. */
void device_wakes(void);

/* Stands for the driver's polling: blocks until the device has finished more than `finished`. */
void device_await_finished(uint16_t finished);

#endif
