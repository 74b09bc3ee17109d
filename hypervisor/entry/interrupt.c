/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/interrupt.h"

#include "bandwidth/bandwidth.h"
#include "console/input.h"
#include "console/terminal.h"
#include "entry/watch.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "hypervisor/processor.h"
#include "manager/manager.h"
#include "partition/life.h"
#include "partition/ownership.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "scheduler/scheduler.h"
#include "watchdog/watchdog.h"

/* Interrupts of the hypervisor: SGI, terminal, SMMU, timer. */
#define OWN_INTERRUPTS 4u
/* Arm ARM, ISR_EL1. */
#define PENDING_FIQ UINT64_C(0x40)

/* Handles the keys that were typed for the boot VCPU's partition. If keys are left, calls the boot
 * core, so that it handles them in another exit. */
static void handle_typed_keys(struct vcpu *vcpu)
{
    enum partition_request request = input_take(vcpu->partition);

    if (request != REQUEST_NONE) {
        life_request_by_terminal(vcpu, request);
    }
    if (input_can_take(vcpu->partition)) {
        recall_call(vcpu, vcpu->partition->constant.index);
    }
}

void interrupt_handle_messages(struct vcpu *vcpu)
{
    if (vcpu->number == 0) {
        recall_begin_answer(vcpu);
        handle_typed_keys(vcpu);
        refused_dma_take(vcpu);
        manager_take_order(vcpu);
        ownership_depart(vcpu);
    }
    watchdog_look(vcpu);
}

/* Handles the terminal's interrupt: queues the typed keys, and calls or recalls the boot core of
 * each partition for which keys were queued. That core handles them. Returns the partition that had
 * the input, if keys were typed for it, otherwise DESCRIPTION_NO_PARTITION. */
static uint32_t handle_terminal(const struct vcpu *vcpu)
{
    uint32_t owner = terminal_input_owner();
    struct input_calls calls =
        input_receive(vcpu->partition->constant.system, register_read(cntpct_el0));

    for (uint32_t left = calls.called; left != 0; left &= left - 1) {
        uint32_t partition = (uint32_t)__builtin_ctz(left);

        if ((calls.recalled >> partition & 1u) != 0) {
            recall(vcpu, partition);
        } else {
            recall_call(vcpu, partition);
        }
    }
    return owner != DESCRIPTION_NO_PARTITION && (calls.called >> owner & 1u) != 0
               ? owner
               : DESCRIPTION_NO_PARTITION;
}

/* Handles the SMMU's interrupt by a VCPU of this processor whose partition has access to the event
 * queue. Returns the partition whose DMA was refused, or DESCRIPTION_NO_PARTITION. */
static uint32_t handle_smmu(const struct processor *processor)
{
    const struct vcpu *vcpu = processor->vcpus;

    while (vcpu != NULL && vcpu->partition->constant.smmu.events == 0) {
        vcpu = vcpu->next;
    }
    return vcpu != NULL ? refused_dma_forward(vcpu) : DESCRIPTION_NO_PARTITION;
}

/* Handles the interrupt of one of the hypervisor's devices, or the core's SPI for messages. */
static void handle_spi(struct processor *processor, uint32_t number)
{
    struct vcpu *vcpu = processor->vcpu;
    const struct description_board *board = &vcpu->partition->constant.system->board;
    uint32_t cause;

    if (number != board->uart_interrupt && number != board->smmu_interrupt) {
        scheduler_message(vcpu);
        return;
    }
    processor->handled_spi = number; /* for watch_leave(), if this core halts meanwhile */
    cause = number == board->uart_interrupt ? handle_terminal(vcpu) : handle_smmu(processor);
    watch_set_timer(processor);
    scheduler_device_interrupt(vcpu, cause);
    processor->handled_spi = 0;
}

static void handle_own_interrupt(struct vcpu *vcpu, uint32_t number)
{
    vcpu->report.exits[EXIT_INTERRUPT]++;
    switch (number) {
    case GIC_OWN_MAINTENANCE:
        listed_underflow(vcpu);
        break;
    case GIC_OWN_TIMER:
        scheduler_timer(processor_this());
        break;
    case GIC_OWN_SGI:
        scheduler_message(vcpu);
        break;
    default:
        if (!bandwidth_take_interrupt(vcpu, number)) {
            handle_spi(processor_this(), number);
        }
        break;
    }
}

void interrupt_handle(struct vcpu *vcpu)
{
    uint32_t number = gic_acknowledge(vcpu->partition);

    if (number != GIC_NONE) {
        handle_own_interrupt(vcpu, number);
        gic_end(vcpu->partition, number);
    }
}

void interrupt_handle_blocked(struct vcpu *vcpu)
{
    uint64_t active = gic_hide_active();

    for (unsigned i = 0; i < OWN_INTERRUPTS && (register_read(isr_el1) & PENDING_FIQ) != 0; i++) {
        interrupt_handle(vcpu);
    }
    /* The guest may be handling an interrupt. The GIC ignores its end if no priority is active, and
     * never signals the interrupt again, because it stays active. */
    gic_restore_active(active);
}

void interrupt_list(struct vcpu *vcpu)
{
    uint32_t number = vcpu->list.number;

    if (!listed_resolve(vcpu) && !scheduler_forward_interrupt(vcpu, number)) {
        handle_own_interrupt(vcpu, number);
        gic_end_dropped(number);
    }
}
