/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that depend on the processor: mapping of registers and memory, triggers of interrupts,
 * order of accesses to memory and to registers. One of machine_*.c is linked.
 */
#ifndef VIRTIO_RTEMS_MACHINE_H
#define VIRTIO_RTEMS_MACHINE_H

#include <rtems.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps `bytes` of registers at a physical address, uncached and with accesses in order. Returns
 * their address, 0 if they cannot be mapped. Thread context. */
uintptr_t machine_map_registers(uint64_t physical, size_t bytes);

/* Maps `bytes` of memory at a physical address, cached. Returns the memory, NULL if it cannot be
 * mapped. Thread context. */
void *machine_map_memory(uint64_t physical, size_t bytes);

/* Makes an interrupt edge-triggered, which has to be disabled. Returns false if the port to this
 * processor cannot. Task context. */
bool machine_set_edge_triggered(rtems_vector_number vector);

/* Full barrier: a device observes earlier accesses to memory and registers before later ones. Any
 * context. */
void machine_order(void);

#endif
