/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/interrupt.h"

#include "console/input.h"
#include "console/terminal.h"
#include "entry/processor.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "manager/manager.h"
#include "partition/fault.h"
#include "partition/life.h"
#include "partition/recall.h"
#include "scheduler/scheduler.h"

/* Takes what was typed for the partition of a boot VCPU. */
static void take_input(struct vcpu *vcpu)
{
    enum partition_request request = input_take(vcpu->partition);

    if (request != REQUEST_NONE) {
        life_request_by_terminal(vcpu, request);
    }
    if (terminal_has_key(vcpu->partition->index)) {
        gic_call_core(vcpu->partition, partition_core(vcpu->partition, 0));
    }
}

/* Takes what this or another processor has left for the partitions whose boot VCPUs execute here.
 */
static void take_messages(const struct processor *processor)
{
    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        if (vcpu->number == 0) {
            recall_begin_answer(vcpu);
            take_input(vcpu);
            fault_take_dma(vcpu);
        }
    }
}

/* Handles the terminal's interrupt: receives the typed characters, and calls the boot core of each
 * partition that has got some. That core takes them. */
static void handle_terminal(const struct processor *processor)
{
    const struct vcpu *vcpu = processor->vcpu;
    const struct description *system = vcpu->partition->system;
    struct input_calls calls = input_receive(system);

    for (uint32_t left = calls.called; left != 0; left &= left - 1) {
        uint32_t partition = (uint32_t)__builtin_ctz(left);
        uint32_t core = description_boot_core(&system->partitions[partition]);

        if (core == processor->index) {
            continue; /* take_messages() follows */
        }
        if ((calls.recalled >> partition & 1u) != 0) {
            recall(vcpu, partition);
        } else {
            gic_call_core(vcpu->partition, &system->cores[core]);
        }
    }
}

/* The partition of one of the VCPUs has access to the SMMU's events. */
static void handle_smmu(const struct processor *processor)
{
    const struct vcpu *vcpu = processor->vcpus;

    while (vcpu != NULL && !fault_of_dma(vcpu)) {
        vcpu = vcpu->next;
    }
}

/* An interrupt of a device of the hypervisor. */
static void handle_device(const struct processor *processor, uint32_t number)
{
    const struct description_board *board = &processor->vcpu->partition->system->board;

    if (number == board->uart_interrupt) {
        handle_terminal(processor);
    } else if (number == board->smmu_interrupt) {
        handle_smmu(processor);
    }
    take_messages(processor);
}

static void handle(struct vcpu *vcpu, uint32_t number)
{
    vcpu->report.exits[EXIT_INTERRUPT]++;
    switch (number) {
    case GIC_OWN_MAINTENANCE:
        listed_underflow(vcpu);
        break;
    case GIC_OWN_TIMER:
        scheduler_timer(vcpu);
        break;
    case GIC_OWN_SGI:
        take_messages(processor_this());
        manager_take_orders(processor_this()->vcpus);
        scheduler_message(vcpu);
        break;
    default:
        handle_device(processor_this(), number);
        break;
    }
}

void interrupt_handle(struct vcpu *vcpu)
{
    uint32_t number = gic_acknowledge(vcpu->partition);

    if (number != GIC_NONE) {
        handle(vcpu, number);
        gic_end(vcpu->partition, number);
    }
}

void interrupt_list(struct vcpu *vcpu)
{
    uint32_t number = vcpu->list.number;

    if (!listed_resolve(vcpu) && !scheduler_forward_interrupt(vcpu, number)) {
        handle(vcpu, number);
        gic_end_dropped(number);
    }
}
