/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/health.h"

#include "partition/fault.h"
#include <arch/hypercalls.h>

bool health_has_call(const struct vcpu *vcpu, uint32_t function)
{
    return function == CALL_HEALTH_REPORT &&
           vcpu->partition->constant.described->health.is_monitored != 0;
}

int64_t health_report(struct vcpu *vcpu, uint32_t kind, uint64_t value, uint64_t pc)
{
    if (!health_has_call(vcpu, CALL_HEALTH_REPORT) || kind != HEALTH_REPORT_PANIC) {
        return CALL_NOT_SUPPORTED;
    }
    fault_of_panic(vcpu, pc, value);
    return CALL_SUCCESS;
}
