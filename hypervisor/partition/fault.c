/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "entry/processor.h"
#include "partition/life.h"
#include "smmu/smmu.h"

/* Takes a pending SError, so that it is attributed to this processor's earlier accesses. */
static void take_pending_errors(void)
{
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory");
}

static void record(struct vcpu *vcpu, uint64_t syndrome, uint64_t address, uint64_t pc)
{
    vcpu->report.exits[EXIT_FAULT]++;
    vcpu->report.syndrome = syndrome;
    vcpu->report.address = address;
    vcpu->report.pc = pc;
}

/* Records the fault, reports it on the terminal, and asks for the partition's stop. `what`: the
 * name of the address in the report. */
static void stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, const char *what,
                 uint64_t address)
{
    const char *name = vcpu->partition->described->name;

    record(vcpu, syndrome, address, pc);
    uart_flush(vcpu->partition, true);
    if (address == FAULT_ADDRESS_UNKNOWN) {
        terminal_print("%s is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx", name,
                       vcpu->processor, syndrome, pc);
    } else {
        terminal_print("%s is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx", name,
                       vcpu->processor, what, address, syndrome, pc);
    }
    life_request(vcpu, REQUEST_STOP);
}

void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address)
{
    stop(vcpu, pc, syndrome, "address", address);
}

bool fault_of_device(uint64_t pc)
{
    struct processor *processor = processor_this();
    uint64_t syndrome;

    take_pending_errors();
    syndrome = processor->device_syndrome;
    if (syndrome == 0) {
        return false;
    }
    processor->device_syndrome = 0;
    stop(processor->vcpu, pc, syndrome, "no answer from the device at", processor->device_address);
    return true;
}

void fault_of_dma(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct smmu_event event;

    if (!smmu_event(partition, &event) ||
        __atomic_load_n(&partition->request, __ATOMIC_ACQUIRE) != REQUEST_NONE) {
        return;
    }
    record(vcpu, event.type, event.address, 0);
    uart_flush(partition, true);
    terminal_print("%s is stopped: device %x%x:%x%x.%x, DMA %s at 0x%lx, event 0x%x",
                   partition->described->name, event.stream >> 12, event.stream >> 8 & 0xf,
                   event.stream >> 7 & 1, event.stream >> 3 & 0xf, event.stream & 7,
                   event.read ? "read" : "write", event.address, event.type);
    life_request(vcpu, REQUEST_STOP);
}
