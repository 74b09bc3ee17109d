/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "hypervisor/sharing.h"
#include "shared/core.h"

static const struct description_vcpu *described(const struct vcpu *vcpu)
{
    return &vcpu->partition->described->vcpus[vcpu->number];
}

void sharing_boot(struct processor *processor)
{
    if (described(processor->vcpus)->shared == 0) {
        return;
    }
    processor->shared = (struct shared_core *)(uintptr_t)boot_take(1);
    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        vcpu->shared = (struct shared_vcpu *)(uintptr_t)boot_take(1);
        vcpu->partition->shares_cores = true;
    }
}
