/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces bandwidth.c in images without limits of bandwidth. */
#include "bandwidth/bandwidth.h"

#include <stddef.h>

/* NOLINTBEGIN(readability-non-const-parameter): bandwidth.c writes to all of them */
const char *bandwidth_start_core(struct vcpu *vcpu)
{
    (void)vcpu;
    return NULL;
}

void bandwidth_start_guest(struct vcpu *vcpu)
{
    (void)vcpu;
}

void bandwidth_end_guest(struct vcpu *vcpu)
{
    (void)vcpu;
}

bool bandwidth_take_interrupt(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
    return false;
}

uint64_t bandwidth_due(const struct processor *processor)
{
    (void)processor;
    return UINT64_MAX;
}

void bandwidth_do_due_work(struct processor *processor)
{
    (void)processor;
}

void bandwidth_wait(struct processor *processor, struct vcpu *vcpu, uint64_t pc)
{
    (void)processor;
    (void)vcpu;
    (void)pc;
}
/* NOLINTEND(readability-non-const-parameter) */
