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

/* Handles CALL_CHANNEL_NOTIFY or CALL_CHANNEL_SET_STATE. `registers`: X0 to X3. Returns X0:
 * CALL_SUCCESS or CALL_NOT_SUPPORTED. */
int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4]);

#endif
