/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel/sync.h of our own kernel as far as lwIP's port uses it, by RTEMS's self-contained objects
 * (RTEMS Classic API Guide, "Self-Contained Objects"): they need no configuration. Results as
 * there.
 */
#ifndef KERNEL_SYNC_H
#define KERNEL_SYNC_H

#include "kernel/result.h"
#include <rtems/thread.h>
#include <stdint.h>

struct mutex {
    rtems_mutex object; /* inherits priority */
};

void mutex_init(struct mutex *mutex);
enum result mutex_lock(struct mutex *mutex, uint64_t deadline); /* waits for ever */
enum result mutex_unlock(struct mutex *mutex);

/* Binary: limit is 1. */
struct semaphore {
    rtems_binary_semaphore object;
    uint32_t limit;
};

void semaphore_init(struct semaphore *semaphore, uint32_t count, uint32_t limit);
enum result semaphore_post(struct semaphore *semaphore); /* any context */
enum result semaphore_wait(struct semaphore *semaphore, uint64_t deadline);

struct message_queue {
    uint8_t *storage;
    uint32_t message_bytes;
    uint32_t capacity; /* messages */
    uint32_t head;     /* index of the oldest */
    uint32_t count;
    rtems_counting_semaphore filled;
    rtems_counting_semaphore empty;
};

void message_queue_init(struct message_queue *queue, void *storage, uint32_t message_bytes,
                        uint32_t capacity);
enum result message_queue_send(struct message_queue *queue, const void *message, uint64_t deadline);
enum result message_queue_receive(struct message_queue *queue, void *message, uint64_t deadline);

#endif
