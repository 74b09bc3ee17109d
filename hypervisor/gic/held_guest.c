/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/held_guest.h"

#include "gic/direct.h"
#include "gic/internal.h"
#include "gic/listed.h"
#include "gic/system_registers.h"

uint64_t gic_hold_guest(const struct vcpu *vcpu)
{
    if (listed_has(vcpu->partition)) {
        return 0;
    }
    gic_registers_mask(PRIORITY_MASK_OWN);
    return gic_hide_active();
}

void gic_release_guest(struct vcpu *vcpu, uint64_t held)
{
    if (listed_has(vcpu->partition)) {
        return;
    }
    gic_restore_active(held);
    direct_set_mask(vcpu, direct_mask(vcpu));
}
