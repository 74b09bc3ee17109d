/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the port asks of an operating system beside virtio/platform.h and lwIP's own layer for one
 * (lwip/sys.h). Of that layer it asks more than lwIP does: sys_sem_signal() works in interrupt
 * context, and SYS_ARCH_PROTECT() keeps the device's interrupt out and lets virtio_platform_lock()
 * be taken within.
 */
#ifndef VIRTIO_PORT_NETWORK_SYSTEM_H
#define VIRTIO_PORT_NETWORK_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

/* Memory that devices reach (virtio_platform_dma_address()), aligned for any type, not cleared;
 * NULL when exhausted. Thread context. */
void *network_memory_allocate(size_t bytes);
void network_memory_free(void *memory);

/* Lets a thread of the caller's priority run. Thread context. */
void network_yield(void);

/* True while no other thread is ready to run: the processor's time is nobody else's. False where
 * the system does not tell. Thread context. */
bool network_is_alone(void);

#endif
