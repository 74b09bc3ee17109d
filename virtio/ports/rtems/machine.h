/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What depends on the processor: how registers are mapped, and what orders accesses to memory and
 * to registers. One of machine_*.c is linked.
 */
#ifndef VIRTIO_RTEMS_MACHINE_H
#define VIRTIO_RTEMS_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The address at which `bytes` of registers can be accessed, uncached and in order; 0: it cannot be
 * mapped. Thread context. */
uintptr_t machine_map_registers(uint64_t physical, size_t bytes);

/* Accesses to memory and to registers before it are seen by a device before those after it. Any
 * context. */
void machine_order(void);

#endif
