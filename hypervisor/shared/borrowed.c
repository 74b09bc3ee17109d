/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared/borrowed.h"

#include "hypervisor/registers.h"
#include "hypervisor/sharing.h"
#include "vcpu/controls.h"

void borrowed_take_debug(struct shared_core *core)
{
    if (core->debug != NULL) {
        debug_save(&core->resources, &core->debug->shared->debug);
    }
    core->debug = NULL;
}

void borrowed_give_debug(struct shared_core *core, const struct vcpu *vcpu)
{
    debug_trap(false);
    if (core->debug != vcpu) {
        borrowed_take_debug(core);
        debug_load(&core->resources, &vcpu->shared->debug);
        core->debug = vcpu;
    }
}

void sharing_give_vectors(struct vcpu *vcpu)
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

bool sharing_give_register(struct vcpu *vcpu, unsigned name)
{
    struct shared_core *core = processor_this()->shared;

    if (core == NULL || core->debug == vcpu || !debug_is_trapped(name)) {
        return false;
    }
    borrowed_give_debug(core, vcpu);
    return true;
}
