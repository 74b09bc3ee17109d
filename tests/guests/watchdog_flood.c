/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses the partition's generic watchdog all the time, with offsets from 0 to some microseconds:
 * its signals are asserted at once, or after the budget is used up, while others execute.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <devices/watchdog_registers.h>

#define OFFSETS 4096u /* ticks */

int application_main(void)
{
    int node = devicetree_next_compatible(-1, "arm,sbsa-gwdt");
    uint64_t address = 0, bytes = 0;
    uintptr_t control, refresh;

    if (node < 0 || devicetree_reg(node, 0, &address, &bytes) != RESULT_OK) {
        print("FAIL: there is no watchdog\n");
        return 1;
    }
    control = arch_mmu_map_device(address, WATCHDOG_FRAME_BYTES);
    if (devicetree_reg(node, 1, &address, &bytes) != RESULT_OK) {
        print("FAIL: there is no refresh frame\n");
        return 1;
    }
    refresh = arch_mmu_map_device(address, WATCHDOG_FRAME_BYTES);
    for (uint32_t i = 0;; i++) {
        device_write32(control + WOR, i % 2 != 0 ? i / 2 % 2 : i % OFFSETS);
        device_write32(control + WCS, i % 8 != 0 ? WCS_ENABLE : 0);
        device_write32(refresh + WRR, i);
    }
}
