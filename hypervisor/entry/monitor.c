/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of a monitor on its own stack and tables, and exceptions of the monitor itself. */
#include "entry/monitor.h"
#include "bandwidth/bandwidth.h"
#include "console/terminal.h"
#include "entry/branch_isolation.h"
#include "entry/device_abort.h"
#include "entry/gate.h"
#include "entry/idle.h"
#include "entry/watch.h"
#include "gic/setup.h"
#include "hypervisor/firmware.h"
#include "hypervisor/registers.h"
#include "memory/tables.h"
#include "partition/life.h"
#include "scheduler/scheduler.h"
#include "vcpu/guest_state.h"
#include "vcpu/same_core.h"

void monitor_halt(void)
{
    struct processor *processor = processor_this();

    if (processor != NULL) {
        life_halt(processor->vcpus);
        watch_leave(processor);
    }
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static int32_t call_firmware(uint32_t function, uint32_t argument)
{
    return (int32_t)firmware_call(function, argument, 0, 0);
}

/* Lets vectors.S isolate the guests' branch predictions. Returns NULL, or the reason why guests
 * can't share the core. */
static const char *isolate_branches(struct processor *processor, struct vcpu *vcpu)
{
    struct branch_isolation isolation =
        branch_isolation_find(register_read(id_aa64pfr0_el1), call_firmware);

    processor->branch_workaround = isolation.workaround;
    vcpu->branch_workaround = isolation.workaround;
    if (isolation.is_isolated || !vcpu_shares_core(vcpu) ||
        vcpu->partition->constant.system->board.isolates_branches != 0) {
        return NULL;
    }
    return "neither the core nor its firmware isolates branch predictions of guests: shared core";
}

void monitor_main(struct processor *processor)
{
    struct vcpu *vcpu = processor->vcpu;
    const char *failure = gic_start_core(vcpu);

    scheduler_start(processor);
    guest_state_init(vcpu);
    if (failure == NULL) {
        failure = isolate_branches(processor, vcpu);
    }
    if (failure == NULL) {
        failure = bandwidth_start_core(vcpu);
    }
    if (failure == NULL &&
        vcpu->partition->constant.described->maintenance == DESCRIPTION_MAINTENANCE_LOCAL &&
        !guest_state_trap_broadcasts()) {
        failure = "local maintenance needs FEAT_EVT, not in core";
    }
    if (failure != NULL) {
        terminal_failed(failure, processor->index);
        monitor_halt();
    }
    gate_pass(processor->index);
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
 * because nothing of it can be relied on, and the partitions with a VCPU on it are stopped; all
 * others run on. During boot every exception ends the start.
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
