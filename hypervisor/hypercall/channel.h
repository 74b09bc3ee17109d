/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercalls for channels (arch/hypercalls.h). Images without channels have channel/absent.c
 * instead. */
#ifndef HYPERCALL_CHANNEL_H
#define HYPERCALL_CHANNEL_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function to the VCPU's guest: a call for
 * channels, if its partition has a channel. */
bool channel_has_call(const struct vcpu *vcpu, uint32_t function);

/* Handle CALL_CHANNEL_NOTIFY and CALL_CHANNEL_SET_STATE. `channel`: its index, any number. Return
 * CALL_SUCCESS, or CALL_NOT_SUPPORTED if the VCPU's partition is no end of such a channel. */
int64_t channel_notify(const struct vcpu *vcpu, uint32_t channel);
int64_t channel_set_state(const struct vcpu *vcpu, uint32_t channel, uint32_t state);

#endif
