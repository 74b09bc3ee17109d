/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "hypervisor/description.h"
#include "hypervisor/processor.h"
#include "partition/life.h"
#include "partition/recall.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"

/* By partition: the first refused DMA that its own monitor has not handled. Any monitor that has
 * changed `state` from REFUSED_NONE to REFUSED_WRITING, by compare and exchange, writes `event`. */
enum refused_state { REFUSED_NONE, REFUSED_WRITING, REFUSED_WAITING };

static struct refused {
    uint32_t state;
    struct smmu_event event;
} refused[DESCRIPTION_PARTITIONS_MAX] __attribute__((section(".bss.monitor_shared")));

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

/* Records the fault, reports it on the terminal, and requests a stop of the partition. `what`: the
 * name of the address in the report. */
static void stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, const char *what,
                 uint64_t address)
{
    record(vcpu, syndrome, address, pc);
    uart_flush(vcpu->partition, true);
    if (address == FAULT_ADDRESS_UNKNOWN) {
        terminal_print_fault(vcpu->partition,
                             "is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx",
                             vcpu->processor, syndrome, pc);
    } else {
        terminal_print_fault(vcpu->partition,
                             "is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx",
                             vcpu->processor, what, address, syndrome, pc);
    }
    life_request(vcpu, REQUEST_STOP);
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

/* Leaves the event for the monitor of its partition, unless an earlier one waits there. The SMMU's
 * interrupt goes to the core of that partition from now on, unless the system has a core that no
 * guest can shut. */
static void leave_event(const struct vcpu *vcpu, const struct smmu_event *event)
{
    const struct description *system = vcpu->partition->constant.system;
    struct refused *place = &refused[event->partition];
    uint32_t before = REFUSED_NONE;

    if (description_first_listed(system) == DESCRIPTION_NO_PARTITION) {
        gic_route(system, system->board.smmu_interrupt,
                  description_boot_core(&system->partitions[event->partition]));
    }
    if (__atomic_compare_exchange_n(&place->state, &before, REFUSED_WRITING, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        place->event = *event;
        __atomic_store_n(&place->state, REFUSED_WAITING, __ATOMIC_RELEASE);
        if (event->partition != vcpu->partition->constant.index || vcpu->number != 0) {
            recall(vcpu, event->partition);
        }
    }
}

bool fault_of_dma(const struct vcpu *vcpu)
{
    struct smmu_event event;
    bool has_event = smmu_event(vcpu->partition, &event);

    if (has_event && event.partition != DESCRIPTION_NO_PARTITION) {
        leave_event(vcpu, &event);
    }
    return has_event;
}

enum step_outcome fault_discard_dma(const struct vcpu *vcpu, uint32_t *event)
{
    /* Devices of others may cause events all the time. So no more than the queue's are taken. */
    if ((*event)++ < EVENTS && fault_of_dma(vcpu)) {
        return STEP_PENDING;
    }
    __atomic_store_n(&refused[vcpu->partition->constant.index].state, REFUSED_NONE,
                     __ATOMIC_RELAXED);
    return STEP_DONE;
}

void fault_take_dma(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct refused *place = &refused[partition->constant.index];
    struct smmu_event event;

    if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) != REFUSED_WAITING) {
        return;
    }
    event = place->event;
    __atomic_store_n(&place->state, REFUSED_NONE, __ATOMIC_RELEASE);
    if (__atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) != REQUEST_NONE) {
        return;
    }
    record(vcpu, event.type, event.address, 0);
    uart_flush(partition, true);
    terminal_print_fault(partition, "is stopped: device %x%x:%x%x.%x, DMA %s at 0x%lx, event 0x%x",
                         event.stream >> 12, event.stream >> 8 & 0xf, event.stream >> 7 & 1,
                         event.stream >> 3 & 0xf, event.stream & 7, event.read ? "read" : "write",
                         event.address, event.type);
    life_request(vcpu, REQUEST_STOP);
}
