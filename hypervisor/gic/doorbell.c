/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/doorbell.h"

#include <arch/device_access.h>
#include <devices/gic_registers.h>

void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    uintptr_t word = (uintptr_t)system->board.distributor + interrupt / 32 * UINT64_C(4);
    uint32_t bit = UINT32_C(1) << interrupt % 32;

    /* A guest enables its doorbell before it checks the channel for the last time. So earlier
     * writes of this core have to be visible before the enable bit is read. */
    device_publish();
    if (interrupt != 0 && (device_read32(word + GIC_ISENABLER) & bit) != 0) {
        device_write32(word + GIC_ISPENDR, bit);
    }
}
