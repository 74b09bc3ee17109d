/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/interrupt.h"

#include "console/input.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "partition/fault.h"
#include "partition/life.h"

void interrupt_handle(struct vcpu *vcpu)
{
    const struct description_board *board = &vcpu->partition->system->board;
    enum partition_request request = REQUEST_NONE;
    uint32_t number = gic_acknowledge();

    if (number == GIC_NONE) {
        return;
    }
    vcpu->report.exits[EXIT_INTERRUPT]++;
    if (number == board->uart_interrupt) {
        request = terminal_input(vcpu->partition);
    } else if (number == board->smmu_interrupt) {
        fault_of_dma(vcpu);
    } else if (number == GIC_OWN_MAINTENANCE) {
        listed_underflow(vcpu);
    }
    gic_end(number);
    if (request != REQUEST_NONE) {
        life_request_by_terminal(vcpu, request);
    }
}
