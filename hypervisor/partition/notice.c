/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/notice.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "partition/fault.h"
#include "partition/refused_dma.h"

void notice_fault(struct vcpu *vcpu, enum fault_kind kind)
{
    vcpu->notice.fault = kind;
    vcpu->notice.has_flushed = false;
}

void notice_event(struct vcpu *vcpu, const char *event)
{
    vcpu->notice.events[vcpu->notice.events[0] != NULL] = event;
    vcpu->notice.has_flushed = false;
}

static void print_event(struct vcpu *vcpu)
{
    struct notice *notice = &vcpu->notice;

    terminal_print_event(vcpu->partition, "%s", notice->events[0]);
    notice->events[0] = notice->events[1];
    notice->events[1] = NULL;
}

static void print_fault(const struct vcpu *vcpu, enum fault_kind kind)
{
    const struct vcpu_report *report = &vcpu->report;

    if (kind == FAULT_OF_DMA) {
        refused_dma_print(vcpu);
    } else if (kind == FAULT_OF_PANIC) {
        terminal_add_fault(vcpu->partition, "is stopped: core %u, panic with value 0x%lx, pc 0x%lx",
                           vcpu->processor, report->address, report->pc);
    } else if (kind == FAULT_OF_WATCHDOG) {
        terminal_add_fault(vcpu->partition,
                           "is stopped: core %u, its watchdog was not refreshed, pc 0x%lx",
                           vcpu->processor, report->pc);
    } else if (kind == FAULT_OF_HEARTBEAT) {
        terminal_add_fault(vcpu->partition,
                           "is stopped: core %u, its heartbeat stands still, pc 0x%lx",
                           vcpu->processor, report->pc);
    } else if (report->address == FAULT_ADDRESS_UNKNOWN) {
        terminal_add_fault(vcpu->partition,
                           "is stopped: core %u, address unknown, syndrome 0x%lx, pc 0x%lx",
                           vcpu->processor, report->syndrome, report->pc);
    } else {
        terminal_add_fault(
            vcpu->partition, "is stopped: core %u, %s 0x%lx, syndrome 0x%lx, pc 0x%lx",
            vcpu->processor, kind == FAULT_OF_GUEST ? "address" : "no answer from the device at",
            report->address, report->syndrome, report->pc);
    }
}

void notice_report(struct vcpu *vcpu)
{
    struct notice *notice = &vcpu->notice;

    if (!notice->has_flushed) {
        notice->has_flushed = true;
        (void)uart_flush(vcpu->partition, true);
    } else if (notice->has_to_send) {
        notice->has_to_send = false;
        terminal_send();
    } else if (notice->fault != FAULT_NONE) {
        print_fault(vcpu, notice->fault);
        notice->fault = FAULT_NONE;
        notice->has_to_send = true;
    } else if (notice->events[0] != NULL) {
        print_event(vcpu);
    }
}
