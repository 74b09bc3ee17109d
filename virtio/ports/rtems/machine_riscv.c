/* SPDX-License-Identifier: BSD-2-Clause */
/* RISC-V: registers are accessed at their physical addresses. */
#include "machine.h"

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)physical == physical ? (uintptr_t)physical : 0;
}

/* The compiler's full barrier does not order accesses to devices (RISC-V Unprivileged ISA
 * 20191213, 2.7).
 */
void machine_order(void)
{
    __asm__ volatile("fence iorw, iorw" ::: "memory");
}
