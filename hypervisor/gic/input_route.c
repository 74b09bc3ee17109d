/* SPDX-License-Identifier: BSD-2-Clause */
/* console/input.h: the terminal's interrupt goes to whoever has the input. */
#include "console/input.h"
#include "gic/gic_registers.h"

#include <arch/device_access.h>

void gic_route_input(const struct description *system, uint32_t core)
{
    uintptr_t distributor = (uintptr_t)system->board.distributor;
    uint32_t interrupt = system->board.uart_interrupt;

    device_write64(distributor + GICD_IROUTER + (uintptr_t)8 * interrupt,
                   system->cores[core].affinity);
    device_write32(distributor + GIC_ISPENDR + (uintptr_t)4 * (interrupt / 32),
                   UINT32_C(1) << interrupt % 32);
}
