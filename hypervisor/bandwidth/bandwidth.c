/* SPDX-License-Identifier: BSD-2-Clause */
#include "bandwidth/bandwidth.h"

#include "bandwidth/counter.h"
#include "console/terminal.h"
#include "entry/due_work.h"
#include "entry/interrupt.h"
#include "entry/watch.h"
#include "gic/counter_interrupt.h"
#include "gic/held_guest.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "hypervisor/registers.h"
#include "scheduler/scheduler.h"
#include "vcpu/power.h"
#include <stddef.h>

#define NANOSECONDS UINT64_C(1000000000)
/* Arm ARM, ISR_EL1. */
#define PENDING_IRQ UINT64_C(0x80)
#define PENDING_FIQ UINT64_C(0x40)

static const struct description_board *board_of(const struct vcpu *vcpu)
{
    return &vcpu->partition->constant.system->board;
}

/* Returns the limits of the partition's VCPUs. A window is at most a second, and the product below
 * 2^64 while the counter has less than 18 GHz. */
static struct bandwidth_limits limits_of(const struct partition *partition)
{
    const struct description_bandwidth *described = &partition->constant.described->bandwidth;
    uint64_t ticks = described->window * register_read(cntfrq_el0) / NANOSECONDS;

    return (struct bandwidth_limits){.ticks = ticks != 0 ? ticks : 1, .budget = described->events};
}

const char *bandwidth_start_core(struct vcpu *vcpu)
{
    const char *failure;

    if (!bandwidth_is_limited(vcpu->partition)) {
        return NULL;
    }
    failure = counter_reserve(board_of(vcpu));
    if (failure != NULL) {
        return failure;
    }
    if (!gic_take_counter_interrupt(vcpu)) {
        return "the firmware keeps interrupt 23, the performance monitors', in core";
    }
    window_close(&vcpu->bandwidth.window);
    vcpu->bandwidth.limits = limits_of(vcpu->partition);
    return NULL;
}

static bool is_limited(const struct vcpu *vcpu)
{
    return vcpu->bandwidth.limits.ticks != 0;
}

void bandwidth_start_guest(struct vcpu *vcpu)
{
    struct vcpu_bandwidth *bandwidth = &vcpu->bandwidth;

    if (!is_limited(vcpu)) {
        return;
    }
    (void)gic_take_counter_interrupt(vcpu); /* as when the core started */
    counter_start(board_of(vcpu));
    bandwidth->was_parked = false;
    window_open(&bandwidth->window, &bandwidth->limits, register_read(cntpct_el0));
    counter_load(bandwidth->window.granted);
    watch_set_timer(processor_this());
}

void bandwidth_end_guest(struct vcpu *vcpu)
{
    if (is_limited(vcpu)) {
        counter_stop();
        window_close(&vcpu->bandwidth.window);
    }
}

bool bandwidth_take_interrupt(struct vcpu *vcpu, uint32_t number)
{
    if (number != GIC_OWN_COUNTERS) {
        return false;
    }
    if (counter_acknowledge()) {
        window_spend(&vcpu->bandwidth.window);
    } else {
        vcpu->report.refused++;
    }
    return true;
}

uint64_t bandwidth_due(const struct processor *processor)
{
    const struct vcpu *vcpu = processor->vcpu;

    return is_limited(vcpu) ? vcpu->bandwidth.window.end : WINDOW_NEVER;
}

static void count_window(struct bandwidth_report *report, uint32_t used, bool was_spent)
{
    report->windows++;
    report->events += used;
    report->most = used > report->most ? used : report->most;
    report->spent += was_spent;
}

void bandwidth_do_due_work(struct processor *processor)
{
    struct vcpu_bandwidth *bandwidth = &processor->vcpu->bandwidth;
    bool was_spent = bandwidth->window.is_spent != 0;
    uint32_t used;

    if (!is_limited(processor->vcpu) || bandwidth->window.end == WINDOW_NEVER) {
        return;
    }
    used = counter_used(bandwidth->window.granted);
    if (window_advance(&bandwidth->window, &bandwidth->limits, used, register_read(cntpct_el0))) {
        count_window(&bandwidth->report, used, was_spent);
        counter_load(bandwidth->window.granted);
    }
}

/* Handles the interrupts that are pending. The guest gets listed ones when it continues. */
static void handle_interrupts(struct vcpu *vcpu)
{
    uint64_t pending = register_read(isr_el1);

    if ((pending & PENDING_FIQ) != 0) {
        interrupt_handle(vcpu);
    }
    if ((pending & PENDING_IRQ) != 0 && listed_has(vcpu->partition) && !listed_take(vcpu)) {
        interrupt_list(vcpu);
    }
}

static bool is_parked(const struct vcpu *vcpu)
{
    return vcpu->bandwidth.window.is_spent != 0 && power_may_execute(vcpu);
}

/* Says once in a life of the guest that its limit has had an effect. */
static void report_once(struct vcpu *vcpu)
{
    if (!vcpu->bandwidth.was_parked) {
        vcpu->bandwidth.was_parked = true;
        terminal_print_event(vcpu->partition,
                             "has used up its bandwidth in a window: core %u is parked",
                             vcpu->processor);
    }
}

static __attribute__((noinline)) void park(struct processor *processor, struct vcpu *vcpu,
                                           uint64_t pc)
{
    uint64_t start = register_read(cntpct_el0), held = gic_hold_guest(vcpu);

    report_once(vcpu);
    while (is_parked(vcpu)) {
        scheduler_wait(vcpu);
        handle_interrupts(vcpu);
        run_due_work(processor, vcpu, pc);
    }
    gic_release_guest(vcpu, held);
    vcpu->bandwidth.report.parked += register_read(cntpct_el0) - start;
}

void bandwidth_wait(struct processor *processor, struct vcpu *vcpu, uint64_t pc)
{
    if (is_parked(vcpu)) {
        park(processor, vcpu, pc);
    }
}
