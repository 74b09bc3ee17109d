/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the operating system that the port needs in addition to virtio/platform.h and lwIP's
 * operating system layer (lwip/sys.h). The port needs more of that layer than lwIP does:
 * sys_sem_signal() works in interrupt context, and SYS_ARCH_PROTECT() excludes the device's
 * interrupt and may be held when virtio_platform_lock() is taken.
 */
#ifndef VIRTIO_PORT_NETWORK_SYSTEM_H
#define VIRTIO_PORT_NETWORK_SYSTEM_H

#include "lwip/sys.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns memory that devices can access (virtio_platform_dma_address()), aligned for any type, not
 * cleared; NULL if memory is exhausted. Thread context. */
void *network_memory_allocate(size_t bytes);
void network_memory_free(void *memory);

/* Yields the processor to threads of the caller's priority. Thread context. */
void network_yield(void);

/* Returns true if no other thread is ready to run, false if one is or the system cannot tell.
 * Thread context. */
bool network_is_alone(void);

/* The bottom half's thread calls this when it begins. A system that gives time to the bottom half
 * on behalf of the threads that wait for it learns the thread by this call. */
void network_bottom_half_begins(void);

/* The bottom half's thread calls this before each step that masks interrupts: a call of the driver,
 * network_yield(), or its wait for work. If a timer is due before such a step ends, a system may
 * wait for it here. */
void network_step_begins(void);

/* Sleeps until virtio_platform_now() reaches this time, or a little longer. Thread context. */
void network_sleep_until(uint64_t nanoseconds);

enum network_nap_end {
    NETWORK_NAP_OVER,
    NETWORK_NAP_SIGNALLED, /* the semaphore was signalled, and is taken */
    NETWORK_NAP_IMPOSSIBLE,
};

/* Waits for a semaphore for that long. Returns at once if the system's timers are so coarse that it
 * would become a multiple of that, or if they would delay more urgent threads. Bottom-half thread.
 */
enum network_nap_end network_nap(sys_sem_t *semaphore, uint64_t nanoseconds);

/* Waits for a semaphore without limit, as sys_sem_wait(). The bottom half does nothing for the
 * caller meanwhile, so a system gives it no time on behalf of the caller. Thread context. */
void network_wait(sys_sem_t *semaphore);

#endif
