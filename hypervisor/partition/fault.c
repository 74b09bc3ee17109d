/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "hypervisor/processor.h"
#include "partition/life.h"
#include "partition/refused_dma.h"

/* Takes a pending SError, so that it is attributed to this processor's earlier accesses. */
static void take_pending_errors(void)
{
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory");
}

/* Records the fault, and requests a stop of the partition. fault_report() reports it. A later fault
 * of the VCPU, before that report, is not recorded. */
static void stop(struct vcpu *vcpu, enum fault_kind kind, uint64_t pc, uint64_t syndrome,
                 uint64_t address)
{
    if (vcpu->fault.kind == FAULT_NONE) {
        vcpu->report.syndrome = syndrome;
        vcpu->report.address = address;
        vcpu->report.pc = pc;
        vcpu->fault = (struct fault_notice){.kind = kind};
    }
    life_request(vcpu, REQUEST_STOP);
}

void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address)
{
    stop(vcpu, FAULT_OF_GUEST, pc, syndrome, address);
}

void fault_stop_for_dma(struct vcpu *vcpu, uint32_t type, uint64_t address)
{
    stop(vcpu, FAULT_OF_DMA, 0, type, address);
}

static void print_fault(const struct vcpu *vcpu, enum fault_kind kind)
{
    const struct vcpu_report *report = &vcpu->report;

    if (kind == FAULT_OF_DMA) {
        refused_dma_print(vcpu);
    } else if (report->address == FAULT_ADDRESS_UNKNOWN) {
        terminal_print_fault(vcpu->partition,
                             "is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx",
                             vcpu->processor, report->syndrome, report->pc);
    } else {
        terminal_print_fault(
            vcpu->partition, "is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx",
            vcpu->processor, kind == FAULT_OF_GUEST ? "address" : "no answer from the device at",
            report->address, report->syndrome, report->pc);
    }
}

bool fault_report(struct vcpu *vcpu)
{
    enum fault_kind kind = vcpu->fault.kind;

    if (kind == FAULT_NONE) {
        return false;
    }
    if (vcpu->fault.has_flushed) {
        vcpu->fault.kind = FAULT_NONE;
        print_fault(vcpu, kind);
    } else {
        vcpu->fault.has_flushed = true;
        uart_flush(vcpu->partition, true);
    }
    return true;
}

/* Not inline, because every exit asks for it and finds none. Returns true. */
static __attribute__((noinline)) bool stop_for_device(uint64_t pc)
{
    struct processor *processor = processor_this();
    uint64_t syndrome = processor->device_syndrome;

    processor->device_syndrome = 0;
    stop(processor->vcpu, FAULT_OF_DEVICE, pc, syndrome, processor->device_address);
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
