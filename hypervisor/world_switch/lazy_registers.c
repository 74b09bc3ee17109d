/* SPDX-License-Identifier: BSD-2-Clause */
#include "world_switch/lazy_registers.h"

#include "hypervisor/registers.h"
#include "scheduler/core.h"
#include "vcpu/controls.h"

void lazy_registers_save_debug(struct shared_core *core)
{
    if (core->debug != NULL) {
        debug_save(&core->resources, &core->debug->shared->debug);
    }
    core->debug = NULL;
}

void lazy_registers_load_debug(struct shared_core *core, const struct vcpu *vcpu)
{
    debug_trap(false);
    if (core->debug != vcpu) {
        lazy_registers_save_debug(core);
        debug_load(&core->resources, &vcpu->shared->debug);
        core->debug = vcpu;
    }
}

void lazy_registers_load_vectors(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;

    if (core == NULL) {
        return;
    }
    register_write(cptr_el2, register_read(cptr_el2) & ~CPTR_TFP);
    instruction_barrier();
    if (core->vectors != vcpu) {
        if (core->vectors != NULL) {
            vectors_save(&core->vectors->shared->vectors);
        }
        vectors_load(&vcpu->shared->vectors);
        core->vectors = vcpu;
    }
}

bool lazy_registers_load_trapped(struct vcpu *vcpu, unsigned name)
{
    struct shared_core *core = processor_this()->shared;

    if (core == NULL || core->debug == vcpu || !debug_is_trapped(name)) {
        return false;
    }
    lazy_registers_load_debug(core, vcpu);
    return true;
}
