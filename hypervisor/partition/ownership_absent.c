/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces ownership.c in images of systems in which no function moves. */
#include "partition/ownership.h"

#include <arch/hypercalls.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): ownership.c writes to the partition */
bool ownership_arrive(struct partition *partition, uint32_t index)
{
    (void)partition;
    (void)index;
    return true;
}

void ownership_depart(struct vcpu *vcpu)
{
    (void)vcpu;
}

bool ownership_can_fail_over(const struct partition *partition)
{
    (void)partition;
    return false;
}

void ownership_hand_over(struct vcpu *vcpu)
{
    (void)vcpu;
}

void ownership_begin_life(const struct partition *partition)
{
    (void)partition;
}

void ownership_begin_transition(struct partition *partition)
{
    (void)partition;
}

int64_t ownership_give(const struct vcpu *caller, uint32_t address, uint32_t to, bool begins)
{
    (void)caller;
    (void)address;
    (void)to;
    (void)begins;
    return MANAGER_INVALID;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): ownership.c writes to `registers` */
int64_t ownership_state(const struct vcpu *vcpu, uint64_t registers[4])
{
    (void)vcpu;
    (void)registers;
    return CALL_NOT_SUPPORTED;
}

uint32_t ownership_moves(void)
{
    return 0;
}

uint32_t ownership_culprit(const struct description *system, const struct smmu_event *event,
                           uint32_t moves)
{
    (void)system;
    (void)moves;
    return event->partition;
}
