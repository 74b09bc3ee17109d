/* SPDX-License-Identifier: BSD-2-Clause */
/* A monitor's first steps on its own stack and tables, and its last. */
#include "console/terminal.h"
#include "gic/setup.h"
#include "monitor/core.h"
#include "monitor/guest_state.h"
#include "monitor/power.h"
#include "monitor/registers.h"

_Noreturn void monitor_failed(uint64_t syndrome, uint64_t pc, uint64_t address);

void monitor_halt(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void monitor_main(struct core *core)
{
    const char *trouble = gic_start_core();

    if (trouble != NULL) {
        terminal_failed(trouble, core->index);
        monitor_halt();
    }
    guest_state_rule(core->stage2, core->partition->index + 1);
    power_on(core);
}

/* An exception from EL2 itself: an error here, or memory or a device that is not there. Nothing of
 * this core can be relied on; the other partitions run on. */
void monitor_failed(uint64_t syndrome, uint64_t pc, uint64_t address)
{
    terminal_failure(syndrome, pc, address);
    monitor_halt();
}
