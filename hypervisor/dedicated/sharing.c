/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems in which each VCPU has a core of its own. */
#include "hypervisor/sharing.h"

#include "entry/interrupt.h"

void sharing_start(struct processor *processor)
{
    (void)processor;
}

void sharing_wait(struct vcpu *vcpu)
{
    (void)vcpu;
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
}

void sharing_continue(struct vcpu *vcpu)
{
    (void)vcpu;
}

void sharing_handle_interrupts(struct vcpu *vcpu)
{
    interrupt_handle(vcpu);
}

bool sharing_take(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
    return false;
}

void sharing_timer(struct vcpu *vcpu)
{
    (void)vcpu;
}

void sharing_message(struct vcpu *vcpu)
{
    (void)vcpu;
}

enum access_result sharing_send(struct vcpu *vcpu, uint64_t value)
{
    (void)vcpu;
    (void)value;
    return ACCESS_REFUSED;
}

enum access_result sharing_access_other(struct vcpu *vcpu, uint32_t number, struct access *access)
{
    (void)vcpu;
    (void)number;
    access->value = 0;
    return ACCESS_REFUSED;
}

void sharing_reset(struct vcpu *vcpu)
{
    (void)vcpu;
}

void sharing_start_guest(struct vcpu *vcpu)
{
    (void)vcpu;
}

void sharing_give_vectors(struct vcpu *vcpu)
{
    (void)vcpu;
}

bool sharing_give_register(struct vcpu *vcpu, unsigned name)
{
    (void)vcpu;
    (void)name;
    return false;
}
