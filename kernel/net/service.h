/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network's bottom half as a service of an I/O VCPU: while a thread waits for the network, the
 * bottom half has the priority and the period of that thread's VCPU (kernel/vcpu.h).
 */
#ifndef NET_SERVICE_H
#define NET_SERVICE_H

#include "kernel/sync.h"
#include <stdbool.h>
#include <stdint.h>

/* The network's interrupts only wake the bottom half: it is their server (kernel/interrupt.h).
 * Before the bottom half begins. */
void network_serve_interrupts(void);
/* Returns true if that was called. */
bool network_serves_interrupts(void);

/* Waits for a semaphore that the bottom half posts. As semaphore_wait(). */
enum result network_semaphore_wait(struct semaphore *semaphore, uint64_t deadline);

/* Waits for a message that the bottom half sends. As message_queue_receive(). */
enum result network_message_receive(struct message_queue *queue, void *message, uint64_t deadline);

#endif
