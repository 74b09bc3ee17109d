/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/idle.h"

#include "bandwidth/bandwidth.h"
#include "entry/due_work.h"
#include "entry/watch.h"
#include "gic/setup.h"
#include "partition/life.h"
#include "partition/notice.h"
#include "scheduler/scheduler.h"
#include "vcpu/power.h"

/* Ends the execution of the VCPU's guest. The processor's part of the GIC is reset: interrupts of
 * the guest would wake the processor again and again, and an active priority that the guest has
 * feigned blocks the hypervisor's interrupts (docs/decisions/0013). */
static void end_execution(struct vcpu *vcpu)
{
    bandwidth_end_guest(vcpu);
    gic_reset_core(vcpu);
    scheduler_reset(vcpu);
    life_leave(vcpu);
}

/* As many interrupts as may wait for a VCPU, and more. */
#define PASSES 128u

/* Handles the interrupts that are pending, and lets other VCPUs execute, before a work that may
 * take long. Interrupts that arrive all the time don't hold up the work for ever. */
static void let_others_execute(struct processor *processor, struct vcpu *vcpu)
{
    for (unsigned n = 0; n < PASSES && (n == 0 || scheduler_has_interrupt()); n++) {
        scheduler_handle_interrupts(vcpu);
        run_due_work(processor, vcpu, 0);
    }
}

static void report_notices(struct processor *processor, struct vcpu *vcpu)
{
    while (notice_is_left(vcpu)) {
        let_others_execute(processor, vcpu);
        notice_report(vcpu);
    }
}

/* Takes the steps of the VCPU's life, and handles the hypervisor's interrupts between them, until
 * the VCPU is to execute: then starts the guest. `next`: the first step. */
static _Noreturn void run_life_steps(struct vcpu *vcpu, enum life_step next)
{
    struct processor *processor = processor_this();

    while (next != LIFE_EXECUTE) {
        report_notices(processor, vcpu);
        if (next == LIFE_SLEEP) {
            watch_begin_wait(processor);
            scheduler_wait(vcpu);
            watch_end_wait(processor);
        }
        let_others_execute(processor, vcpu);
        next = life_continue(vcpu);
    }
    power_start(vcpu);
}

/* Not inlined: the test of the bound (tests/isolation/test_bound.py) counts from its address. */
__attribute__((noinline)) _Noreturn void idle_start(struct processor *processor)
{
    end_execution(processor->vcpu);
    run_life_steps(processor->vcpu, life_begin(processor->vcpu));
}

_Noreturn void idle(struct processor *processor)
{
    struct vcpu *vcpu = processor->vcpu;

    vcpu->report.state =
        __atomic_load_n(&vcpu->partition->atomic.request, __ATOMIC_ACQUIRE) == REQUEST_NONE
            ? REPORT_OFF
            : REPORT_STOPPED;
    report_notices(processor, vcpu);
    let_others_execute(processor, vcpu);
    end_execution(vcpu);
    run_life_steps(vcpu, life_continue(vcpu));
}
