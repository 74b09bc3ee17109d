/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/interrupt.h"

#include "console/input.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "partition/fault.h"
#include "partition/life.h"

/* Returns what the terminal requests. */
static enum partition_request handle(struct vcpu *vcpu, uint32_t number)
{
    const struct description_board *board = &vcpu->partition->system->board;

    vcpu->report.exits[EXIT_INTERRUPT]++;
    if (number == board->uart_interrupt) {
        return terminal_input(vcpu->partition);
    }
    if (number == board->smmu_interrupt) {
        fault_of_dma(vcpu);
    } else if (number == GIC_OWN_MAINTENANCE) {
        listed_underflow(vcpu);
    }
    return REQUEST_NONE;
}

static void make_request(struct vcpu *vcpu, enum partition_request request)
{
    if (request != REQUEST_NONE) {
        life_request_by_terminal(vcpu, request);
    }
}

void interrupt_handle(struct vcpu *vcpu)
{
    uint32_t number = gic_acknowledge(vcpu->partition);

    if (number != GIC_NONE) {
        enum partition_request request = handle(vcpu, number);

        gic_end(vcpu->partition, number);
        make_request(vcpu, request);
    }
}

void interrupt_list(struct vcpu *vcpu)
{
    if (!listed_resolve(vcpu)) {
        uint32_t number = vcpu->list.number;
        enum partition_request request = handle(vcpu, number);

        gic_end_dropped(number);
        make_request(vcpu, request);
    }
}
