/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of all short critical sections of driver and ports: interrupts off on this processor,
 * and, with RTEMS for several processors, the others kept out. May be nested. Any context.
 */
#ifndef VIRTIO_RTEMS_LOCK_H
#define VIRTIO_RTEMS_LOCK_H

#include <stdint.h>

uint64_t virtio_rtems_lock(void);
void virtio_rtems_unlock(uint64_t state);

#endif
