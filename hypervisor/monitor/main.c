/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of a monitor on its own stack and tables, and exceptions of the monitor itself. */
#include "console/terminal.h"
#include "gic/setup.h"
#include "memory/tables.h"
#include "monitor/core.h"
#include "monitor/device_abort.h"
#include "monitor/guest_state.h"
#include "monitor/power.h"
#include "monitor/registers.h"

void monitor_halt(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void monitor_main(struct core *core)
{
    const char *failure = gic_start_core();

    guest_state_init(core->stage2, core->partition->index + 1);
    if (failure == NULL &&
        core->partition->described->maintenance == DESCRIPTION_MAINTENANCE_LOCAL &&
        !guest_state_trap_broadcasts()) {
        failure = "local maintenance needs FEAT_EVT, not in core";
    }
    if (failure != NULL) {
        terminal_failed(failure, core->index);
        monitor_halt();
    }
    power_on(core);
}

/* Returns PAR_EL1 after a translation of the address for a read at EL2. The guest's PAR_EL1 is
 * kept. */
static uint64_t translate(uint64_t address)
{
    uint64_t guests = register_read(par_el1), result;

    __asm__ volatile("at s1e2r, %1\n\tisb\n\tmrs %0, par_el1"
                     : "=r"(result)
                     : "r"(address)
                     : "memory");
    register_write(par_el1, guests);
    return result;
}

/*
 * If a device did not answer, the access is skipped, and the partition is stopped for it
 * (power_device_fault()). An SError counts as such an access. The terminal is an exception: its
 * accesses belong to no partition, and its driver stops waiting when the PL011 reads as ones.
 *
 * Any other exception is an error of the hypervisor, or memory that is absent. This core halts,
 * because nothing of it can be relied on; other partitions run on. During boot every exception ends
 * the start.
 */
void monitor_recover(struct registers *registers, unsigned kind)
{
    struct core *core = (struct core *)(uintptr_t)register_read(tpidr_el2);
    uint64_t syndrome = register_read(esr_el2), address = register_read(far_el2);

    if (core != NULL && kind == VECTOR_SERROR) {
        core->device_syndrome = syndrome;
        core->device_address = 0;
        return;
    }
    if (core == NULL || kind != VECTOR_SYNCHRONOUS ||
        !device_abort_can_skip(syndrome, translate(address))) {
        terminal_failure(syndrome, registers->pc, address);
        monitor_halt();
    }
    device_abort_skip(registers, syndrome, *(const uint32_t *)(uintptr_t)registers->pc);
    if (address - core->partition->system->board.uart >= PAGE_BYTES) {
        core->device_syndrome = syndrome;
        core->device_address = address;
    }
}
