/* SPDX-License-Identifier: BSD-2-Clause */
/* AArch64: RTEMS's BSPs map only the devices and the memory that they use. */
#include "machine.h"
#include <bsp.h>
#include <bsp/irq.h>
#include <dev/irq/arm-gic.h>
#include <libcpu/mmu-vmsav8-64.h>
#include <rtems.h>

/* Returns the address, 0 if it cannot be mapped. */
static uintptr_t map(uint64_t physical, size_t bytes, uint64_t flags)
{
    uintptr_t address = (uintptr_t)physical;

    if (address != physical || /* a pointer of the ILP32 ABI cannot address it */
        aarch64_mmu_map(address, (uint64_t)bytes, flags) != RTEMS_SUCCESSFUL) {
        return 0;
    }
    return address;
}

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    return map(physical, bytes, AARCH64_MMU_DEVICE);
}

void *machine_map_memory(uint64_t physical, size_t bytes)
{
    return (void *)map(physical, bytes, AARCH64_MMU_DATA_RW_CACHED);
}

/* RTEMS has no call for it. The interrupt is disabled, because the effect of a change is
 * unpredictable otherwise (IHI 0069, GICD_ICFGR). */
bool machine_set_edge_triggered(rtems_vector_number vector)
{
    gic_id_set_trigger_mode(ARM_GIC_DIST, vector, GIC_EDGE_TRIGGERED);
    return true;
}

/* Arm ARM DDI 0487, B2.3.7: DMB orders accesses to Normal and Device memory alike; the outer
 * shareable domain includes the devices. */
void machine_order(void)
{
    __asm__ volatile("dmb osh" ::: "memory");
}
