/* SPDX-License-Identifier: BSD-2-Clause */
/* The work that a monitor does whenever it has handled an exception of its guest, or an interrupt
 * while its VCPU does not execute. */
#ifndef ENTRY_DUE_WORK_H
#define ENTRY_DUE_WORK_H

#include "entry/watch.h"
#include "gic/listed.h"
#include "hypervisor/processor.h"
#include "partition/fault.h"
#include "scheduler/scheduler.h"

/* Takes over interrupts of the hypervisor that another core does not handle, stops the partition if
 * a device did not answer its monitor, lets a more urgent VCPU of the processor execute, and makes
 * the list registers of the VCPU agree with the GIC. `pc`: the guest's program counter, for the
 * report of a fault. Returns when the VCPU executes again. Inline, because every exit ends with
 * it. */
static inline __attribute__((always_inline)) void run_due_work(struct processor *processor,
                                                               struct vcpu *vcpu, uint64_t pc)
{
    watch_look(processor);
    (void)fault_of_device(pc);
    scheduler_continue(vcpu);
    listed_revise(vcpu);
}

#endif
