/* SPDX-License-Identifier: BSD-2-Clause */
/* AArch64: RTEMS's BSPs map only what they use themselves. */
#include "machine.h"
#include <libcpu/mmu-vmsav8-64.h>
#include <rtems.h>

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    rtems_status_code status =
        aarch64_mmu_map((uintptr_t)physical, (uint64_t)bytes, AARCH64_MMU_DEVICE);

    return status == RTEMS_SUCCESSFUL ? (uintptr_t)physical : 0;
}

/* Arm ARM DDI 0487, B2.3.7: DMB orders Normal and Device accesses alike; the outer domain is the
 * devices' too. */
void machine_order(void)
{
    __asm__ volatile("dmb osh" ::: "memory");
}
