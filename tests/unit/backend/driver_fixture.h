/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drivers of clients, for the tests of both back-ends: queues that are written by the driver's
 * side of this library, and the page of a device as the hypervisor writes it.
 */
#ifndef DRIVER_FIXTURE_H
#define DRIVER_FIXTURE_H

#include "backend_test.h"

#include "virtio/device_queue.h"
#include "virtio/virtqueue.h"
#include <arch/shared_device.h>

#define RING 64u /* entries of each queue */

/* Begins a test without allocations. */
void driver_fixture_begin(void);
/* Checks that all memory was freed. */
void driver_fixture_end(void);
/* Returns all memory of the process. The sanitizer sees each access that is not to the driver's. */
struct device_memory driver_fixture_memory(void);

/* A driver creates a queue, and describes it in the page. `indirect_tables`: as in struct
 * virtqueue_options, each of RING entries. */
void driver_create_queue(struct shared_device_page *page, unsigned number, struct virtqueue *queue,
                         uint64_t features, uint16_t indirect_tables);
/* The driver has set up its queues: it sets FEATURES_OK and DRIVER_OK. */
void driver_set_started(struct shared_device_page *page, uint64_t features);
/* The driver resets its device, which has so many queues, or its partition ends. */
void driver_set_reset(struct shared_device_page *page, unsigned queues);
/* The back-end gives the driver up: NEEDS_RESET. */
void driver_set_failed(struct shared_device_page *page);
/* Frees a queue, and all that it still has. */
void driver_free_queue(struct virtqueue *queue, void (*release)(void *token));

#endif
