/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces shared_core.c and start.c in images in which each VCPU has a core of its own. */
#include "scheduler/scheduler.h"

#include "entry/interrupt.h"
#include "entry/watch.h"

void scheduler_start(struct processor *processor)
{
    (void)processor;
}

void scheduler_wait(struct vcpu *vcpu)
{
    (void)vcpu;
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
}

void scheduler_continue(struct vcpu *vcpu)
{
    (void)vcpu;
}

void scheduler_enter(uint64_t time)
{
    (void)time;
}

void scheduler_handle_interrupts(struct vcpu *vcpu)
{
    interrupt_handle(vcpu);
}

bool scheduler_has_interrupt(void)
{
    return false;
}

bool scheduler_forward_interrupt(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
    return false;
}

void scheduler_timer(struct processor *processor)
{
    watch_handle_timer(processor);
}

void scheduler_set_work_due(struct processor *processor, uint64_t time)
{
    (void)processor;
    (void)time;
}

void scheduler_call(struct vcpu *vcpu)
{
    (void)vcpu;
}

void scheduler_device_interrupt(struct vcpu *vcpu, uint32_t partition)
{
    (void)partition;
    interrupt_handle_messages(vcpu);
}

void scheduler_message(struct vcpu *vcpu)
{
    interrupt_handle_messages(vcpu);
}

enum access_result scheduler_send_sgi(struct vcpu *vcpu, uint64_t value)
{
    (void)vcpu;
    (void)value;
    return ACCESS_REFUSED;
}

void scheduler_reset(struct vcpu *vcpu)
{
    (void)vcpu;
}

void scheduler_start_guest(struct vcpu *vcpu)
{
    (void)vcpu;
}
