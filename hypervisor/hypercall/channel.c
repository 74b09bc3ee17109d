/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/channel.h"

#include "channel/end.h"
#include <arch/hypercalls.h>

bool channel_has_call(const struct vcpu *vcpu, uint32_t function)
{
    bool is_known = function == CALL_CHANNEL_NOTIFY || function == CALL_CHANNEL_SET_STATE;
    bool is_connected = false;
    struct end end;

    for (uint32_t i = 0; i < vcpu->partition->constant.system->channel_count; i++) {
        is_connected = is_connected || end_find(vcpu->partition, i, &end);
    }
    return is_known && is_connected;
}

int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    uint32_t function = (uint32_t)registers[0];
    struct end end;

    if ((function != CALL_CHANNEL_NOTIFY && function != CALL_CHANNEL_SET_STATE) ||
        !end_find(vcpu->partition, (uint32_t)registers[1], &end)) {
        return CALL_NOT_SUPPORTED;
    }
    if (function == CALL_CHANNEL_NOTIFY) {
        end_ring_other(&end);
    } else {
        end_set_state(&end, (uint32_t)registers[2]);
    }
    return CALL_SUCCESS;
}
