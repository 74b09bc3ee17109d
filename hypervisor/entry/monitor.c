/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of a monitor on its own stack and tables, and exceptions of the monitor itself. */
#include "entry/monitor.h"
#include "console/terminal.h"
#include "entry/device_abort.h"
#include "entry/idle.h"
#include "gic/setup.h"
#include "hypervisor/registers.h"
#include "memory/tables.h"
#include "scheduler/scheduler.h"
#include "vcpu/guest_state.h"

void monitor_halt(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void monitor_main(struct processor *processor)
{
    struct vcpu *vcpu = processor->vcpu;
    const char *failure = gic_start_core(vcpu);

    scheduler_start(processor);
    guest_state_init(vcpu);
    if (failure == NULL &&
        vcpu->partition->constant.described->maintenance == DESCRIPTION_MAINTENANCE_LOCAL &&
        !guest_state_trap_broadcasts()) {
        failure = "local maintenance needs FEAT_EVT, not in core";
    }
    if (failure != NULL) {
        terminal_failed(failure, processor->index);
        monitor_halt();
    }
    idle_start(processor);
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
 * (fault_of_device()). An SError counts as such an access. The terminal is an exception: its
 * accesses belong to no partition, and its driver stops waiting when the PL011 reads as ones.
 *
 * Any other exception is an error of the hypervisor, or memory that is absent. This core halts,
 * because nothing of it can be relied on; other partitions run on. During boot every exception ends
 * the start.
 */
void monitor_recover(struct registers *registers, unsigned kind)
{
    struct processor *processor = processor_this();
    uint64_t syndrome = register_read(esr_el2), address = register_read(far_el2);

    if (processor != NULL && kind == VECTOR_SERROR) {
        processor->device_syndrome = syndrome;
        processor->device_address = 0;
        return;
    }
    if (processor == NULL || kind != VECTOR_SYNCHRONOUS ||
        !device_abort_can_skip(syndrome, translate(address))) {
        terminal_failure(syndrome, registers->pc, address);
        monitor_halt();
    }
    device_abort_skip(registers, syndrome, *(const uint32_t *)(uintptr_t)registers->pc);
    if (address - processor->vcpu->partition->constant.system->board.uart >= PAGE_BYTES) {
        processor->device_syndrome = syndrome;
        processor->device_address = address;
    }
}
