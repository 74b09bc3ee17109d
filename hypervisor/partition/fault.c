/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "hypervisor/processor.h"
#include "partition/life.h"
#include "partition/notice.h"

/* Takes a pending SError, so that it is attributed to this processor's earlier accesses. */
static void take_pending_errors(void)
{
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory");
}

/* Records the fault, and requests a stop of the partition. A later fault of the VCPU, before the
 * first one is reported, is not recorded. */
static void stop(struct vcpu *vcpu, enum fault_kind kind, uint64_t pc, uint64_t syndrome,
                 uint64_t address)
{
    vcpu->report.exits[EXIT_FAULT]++;
    if (vcpu->notice.fault == FAULT_NONE) {
        vcpu->report.syndrome = syndrome;
        vcpu->report.address = address;
        vcpu->report.pc = pc;
        notice_fault(vcpu, kind);
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
