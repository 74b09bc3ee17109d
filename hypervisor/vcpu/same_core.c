/* SPDX-License-Identifier: BSD-2-Clause */
#include "vcpu/same_core.h"

uint32_t vcpus_on_same_core(const struct vcpu *vcpu)
{
    const struct description_partition *described = vcpu->partition->constant.described;
    uint32_t found = 0, bit = 1;

    if (!vcpu_shares_core(vcpu)) {
        return 0;
    }
    for (uint32_t other = 0; other < described->vcpu_count; other++, bit <<= 1) {
        found |= described->vcpus[other].core == vcpu->processor ? bit : 0;
    }
    return found;
}
