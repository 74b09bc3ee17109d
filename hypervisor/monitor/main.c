/* SPDX-License-Identifier: BSD-2-Clause */
/* A monitor's first steps on its own stack and tables, and its last. */
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
    const char *trouble = gic_start_core();

    if (trouble != NULL) {
        terminal_failed(trouble, core->index);
        monitor_halt();
    }
    guest_state_rule(core->stage2, core->partition->index + 1);
    power_on(core);
}

/* PAR_EL1 of a translation of the address for a read. The register is the guest's. */
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
 * An error of the hypervisor's, or memory that is not there: nothing of this core can be relied on,
 * and it halts; the other partitions run on. A device that does not answer is no error of the
 * hypervisor's: the access is skipped, and the partition that it was for is stopped for it
 * (power_device_fault()). The terminal's accesses are for no partition in particular, and its
 * driver stops waiting when the PL011 reads as ones. During boot every exception ends the start.
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
