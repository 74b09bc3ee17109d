/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/channel.h"

#include "call/function.h"
#include "channel/calls.h"
#include "channel/region.h"
#include "gic/doorbell.h"
#include <arch/channel.h>
#include <stddef.h>

/* Returns the number of the partition's end of the channel, or 2 if it is no end of it. */
static uint32_t end_of(const struct partition *partition, const struct description_channel *channel)
{
    uint32_t end = 0;

    while (end < 2 && channel->ends[end].partition != partition->index) {
        end++;
    }
    return end;
}

static void ring_other(const struct description *system, const struct description_channel *channel,
                       uint32_t end)
{
    doorbell_ring(system, channel->ends[1 - end].interrupt);
}

static void set_state(const struct description *system, const struct description_channel *channel,
                      uint32_t end, uint32_t state)
{
    struct channel_states *states = (struct channel_states *)(uintptr_t)channel->physical;

    __atomic_store_n(&states->ends[end], state, __ATOMIC_RELEASE);
    ring_other(system, channel, end);
}

bool channel_has_call(const struct vcpu *vcpu, uint32_t function)
{
    const struct description *system = vcpu->partition->system;
    bool is_known = function == CALL_CHANNEL_NOTIFY || function == CALL_CHANNEL_SET_STATE;
    bool is_connected = false;

    for (uint32_t i = 0; i < system->channel_count; i++) {
        is_connected = is_connected || end_of(vcpu->partition, &system->channels[i]) < 2;
    }
    return is_known && is_connected;
}

int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    const struct description *system = vcpu->partition->system;
    uint32_t function = (uint32_t)registers[0], index = (uint32_t)registers[1], end;

    if ((function != CALL_CHANNEL_NOTIFY && function != CALL_CHANNEL_SET_STATE) ||
        index >= system->channel_count) {
        return CALL_NOT_SUPPORTED;
    }
    end = end_of(vcpu->partition, &system->channels[index]);
    if (end == 2) {
        return CALL_NOT_SUPPORTED;
    }
    if (function == CALL_CHANNEL_NOTIFY) {
        ring_other(system, &system->channels[index], end);
    } else {
        set_state(system, &system->channels[index], end, (uint32_t)registers[2]);
    }
    return CALL_SUCCESS;
}

void channel_end(const struct partition *partition)
{
    const struct description *system = partition->system;

    for (uint32_t i = 0; i < system->channel_count; i++) {
        uint32_t end = end_of(partition, &system->channels[i]);

        if (end < 2) {
            set_state(system, &system->channels[i], end, 0);
        }
    }
}
