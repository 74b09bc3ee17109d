/* SPDX-License-Identifier: BSD-2-Clause */
/* Processors whose BSPs map all registers and memory at their physical addresses, and whose full
 * barrier is the compiler's. */
#include "machine.h"
#include <stdatomic.h>

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)physical == physical ? (uintptr_t)physical : 0;
}

void *machine_map_memory(uint64_t physical, size_t bytes)
{
    return (void *)machine_map_registers(physical, bytes);
}

bool machine_set_edge_triggered(rtems_vector_number vector)
{
    (void)vector;
    return false;
}

void machine_order(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
