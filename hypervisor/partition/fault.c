/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "hypervisor/processor.h"
#include "partition/life.h"
#include <stddef.h>

/* Takes a pending SError, so that it is attributed to this processor's earlier accesses. */
static void take_pending_errors(void)
{
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory");
}

void fault_record(struct vcpu *vcpu, uint64_t syndrome, uint64_t address, uint64_t pc)
{
    vcpu->report.exits[EXIT_FAULT]++;
    vcpu->report.syndrome = syndrome;
    vcpu->report.address = address;
    vcpu->report.pc = pc;
}

/* Records the fault, and requests a stop of the partition. fault_report() reports it. The first one
 * of a VCPU that is not reported yet is kept. `what`: the name of the address in the report. */
static void stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, const char *what,
                 uint64_t address)
{
    if (vcpu->fault.what == NULL) {
        fault_record(vcpu, syndrome, address, pc);
        vcpu->fault = (struct fault_notice){.what = what};
    }
    life_request(vcpu, REQUEST_STOP);
}

bool fault_report(struct vcpu *vcpu)
{
    const struct vcpu_report *report = &vcpu->report;
    const char *what = vcpu->fault.what;

    if (what == NULL) {
        return false;
    }
    if (!vcpu->fault.has_flushed) {
        vcpu->fault.has_flushed = true;
        uart_flush(vcpu->partition, true);
        return true;
    }
    vcpu->fault.what = NULL;
    if (report->address == FAULT_ADDRESS_UNKNOWN) {
        terminal_print_fault(vcpu->partition,
                             "is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx",
                             vcpu->processor, report->syndrome, report->pc);
    } else {
        terminal_print_fault(vcpu->partition,
                             "is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx",
                             vcpu->processor, what, report->address, report->syndrome, report->pc);
    }
    return true;
}

void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address)
{
    stop(vcpu, pc, syndrome, "address", address);
}

/* Not inline, because every exit asks for it and finds none. Returns true. */
static __attribute__((noinline)) bool stop_for_device(uint64_t pc)
{
    struct processor *processor = processor_this();
    uint64_t syndrome = processor->device_syndrome;

    processor->device_syndrome = 0;
    stop(processor->vcpu, pc, syndrome, "no answer from the device at", processor->device_address);
    return true;
}

/* Not inline, so that errors are taken in one place. */
__attribute__((noinline)) bool fault_of_device(uint64_t pc)
{
    take_pending_errors();
    if (processor_this()->device_syndrome == 0) {
        return false;
    }
    return stop_for_device(pc);
}
