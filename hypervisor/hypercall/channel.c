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

int64_t channel_notify(const struct vcpu *vcpu, uint32_t channel)
{
    struct end end;

    if (!end_find(vcpu->partition, channel, &end)) {
        return CALL_NOT_SUPPORTED;
    }
    end_ring_peers(&end);
    return CALL_SUCCESS;
}

int64_t channel_set_state(const struct vcpu *vcpu, uint32_t channel, uint32_t state)
{
    struct end end;

    if (!end_find(vcpu->partition, channel, &end)) {
        return CALL_NOT_SUPPORTED;
    }
    end_set_state(&end, state);
    return CALL_SUCCESS;
}
