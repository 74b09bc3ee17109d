/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/doorbell.h"

#include "gic/setup.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    uintptr_t enables = (uintptr_t)system->board.distributor + GIC_ISENABLER;

    /* A guest enables its doorbell before it checks the channel for the last time. So earlier
     * writes of this core have to be visible before the enable bit is read. */
    device_publish();
    if (interrupt != 0 &&
        (device_read32(enables + interrupt / 32 * UINT64_C(4)) >> interrupt % 32 & 1) != 0) {
        gic_make_pending(system, interrupt);
    }
}
