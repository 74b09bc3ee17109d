/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/interrupt.h"

#include "console/input.h"
#include "entry/processor.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "hypervisor/sharing.h"
#include "partition/fault.h"
#include "partition/life.h"

/* What was typed for the partition of a VCPU. */
static void handle_terminal(struct vcpu *vcpu)
{
    enum partition_request request = terminal_input(vcpu->partition);

    if (request != REQUEST_NONE) {
        life_request_by_terminal(vcpu, request);
    }
}

/* An interrupt of a device of the hypervisor. It concerns one of the partitions of this processor.
 */
static void handle_device(struct processor *processor, uint32_t number)
{
    const struct description_board *board = &processor->vcpu->partition->system->board;

    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        if (number == board->uart_interrupt) {
            handle_terminal(vcpu);
        } else if (number == board->smmu_interrupt) {
            fault_of_dma(vcpu);
        }
    }
}

static void handle(struct vcpu *vcpu, uint32_t number)
{
    vcpu->report.exits[EXIT_INTERRUPT]++;
    switch (number) {
    case GIC_OWN_MAINTENANCE:
        listed_underflow(vcpu);
        break;
    case GIC_OWN_TIMER:
        sharing_timer(vcpu);
        break;
    case GIC_OWN_SGI:
        sharing_message(vcpu);
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

    if (!listed_resolve(vcpu) && !sharing_take(vcpu, number)) {
        handle(vcpu, number);
        gic_end_dropped(number);
    }
}
