/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces health.c and hypercall/health.c in images without health monitoring. */
#include "health/health.h"

#include "hypercall/health.h"
#include <arch/hypercalls.h>

enum health_action health_raise(const struct vcpu *vcpu, const struct health_event *event)
{
    (void)vcpu;
    (void)event;
    return HEALTH_ACTION_STOP;
}

bool health_admit_restart(const struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

bool health_has_to_wait(const struct partition *partition)
{
    (void)partition;
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): health.c writes to the partition's health */
void health_begin_account(struct partition *partition)
{
    (void)partition;
}

bool health_has_call(const struct vcpu *vcpu, uint32_t function)
{
    (void)vcpu;
    (void)function;
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): hypercall/health.c stops the partition */
int64_t health_report(struct vcpu *vcpu, uint32_t kind, uint64_t value, uint64_t pc)
{
    (void)vcpu;
    (void)kind;
    (void)value;
    (void)pc;
    return CALL_NOT_SUPPORTED;
}

uint64_t health_errors(const struct partition *partition)
{
    (void)partition;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): health.c writes to the record */
bool health_read(const struct partition *partition, uint64_t from, struct health_record *record)
{
    (void)partition;
    (void)from;
    (void)record;
    return false;
}
