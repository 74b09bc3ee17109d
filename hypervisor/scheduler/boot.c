/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "hypervisor/registers.h"
#include "memory/tables.h"
#include "scheduler/core.h"
#include "scheduler/scheduler.h"

static const struct description_vcpu *described(const struct vcpu *vcpu)
{
    return &vcpu->partition->constant.described->vcpus[vcpu->number];
}

/* Makes the page with the times of the partition's VCPUs, and maps it for its guest. The SMMU may
 * use this stage 2 already, but it aborts all DMA until the partition starts. */
static void make_times(struct partition *partition, uint64_t stage2)
{
    uint64_t guest = partition->constant.described->times;

    partition->constant.times = boot_take(1);
    if (guest != 0 && !tables_map((uint64_t *)(uintptr_t)stage2, boot_pool, guest,
                                  partition->constant.times, PAGE_BYTES, STAGE2_CONSTANTS)) {
        boot_refuse("the times of VCPUs can't be mapped at guest address", guest);
    }
}

/* Makes the core's page and, behind it, the ring of its trace, which is aligned to its size. */
static struct shared_core *make_core(void)
{
    struct shared_core *core;

    (void)boot_take(-(boot_pool->next + PAGE_BYTES) % SCHEDULER_TRACE_BYTES / PAGE_BYTES);
    core = (struct shared_core *)(uintptr_t)boot_take(1);
    core->trace.ring = boot_take(SCHEDULER_TRACE_BYTES / PAGE_BYTES);
    return core;
}

void scheduler_boot(struct processor *processor)
{
    struct shared_core *core;

    if (described(processor->vcpus)->shared == 0) {
        return;
    }
    core = make_core();
    processor->shared = core;
    core->look_due = UINT64_MAX;
    core->work_due = UINT64_MAX;
    core->exit_due = UINT64_MAX;
    core->quantum = processor->vcpus->partition->constant.system->cores[processor->index].quantum;
    core->window.part = register_read(cntfrq_el0) / PROFILE_PARTS_A_SECOND;
    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        vcpu->shared = (struct shared_vcpu *)(uintptr_t)boot_take(1);
        if (!vcpu->partition->constant.shares_cores) {
            make_times(vcpu->partition, vcpu->stage2);
        }
        vcpu->partition->constant.shares_cores = true;
    }
}
