/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces watchdog.c in images without health monitoring. */
#include "watchdog/watchdog.h"

/* NOLINTBEGIN(readability-non-const-parameter): watchdog.c writes to all of them */
bool watchdog_access(struct vcpu *vcpu, uint64_t address, struct access *access,
                     enum access_result *result)
{
    (void)vcpu;
    (void)address;
    (void)access;
    (void)result;
    return false;
}

void watchdog_look(struct vcpu *vcpu)
{
    (void)vcpu;
}

void watchdog_call_due(struct processor *processor)
{
    (void)processor;
}

uint64_t watchdog_due(const struct processor *processor)
{
    (void)processor;
    return UINT64_MAX;
}

void watchdog_reset(struct partition *partition)
{
    (void)partition;
}

void watchdog_start_guest(struct vcpu *vcpu)
{
    (void)vcpu;
}
/* NOLINTEND(readability-non-const-parameter) */
