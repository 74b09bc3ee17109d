/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces channel.c and hypercall/channel.c in images without channels. No function
 * has an effect. */
#include "channel/channel.h"

#include "hypercall/channel.h"
#include <arch/hypercalls.h>

bool channel_has_call(const struct vcpu *vcpu, uint32_t function)
{
    (void)vcpu;
    (void)function;
    return false;
}

int64_t channel_notify(const struct vcpu *vcpu, uint32_t channel)
{
    (void)vcpu;
    (void)channel;
    return CALL_NOT_SUPPORTED;
}

int64_t channel_set_state(const struct vcpu *vcpu, uint32_t channel, uint32_t state)
{
    (void)vcpu;
    (void)channel;
    (void)state;
    return CALL_NOT_SUPPORTED;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): channel/channel.c writes to *index */
enum step_outcome channel_end(const struct partition *partition, uint32_t *index)
{
    (void)partition;
    (void)index;
    return STEP_DONE;
}
