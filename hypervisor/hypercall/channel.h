/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls for channels (arch/hypercalls.h). channel/absent.c has them for images without
 * channels. */
#ifndef HYPERCALL_CHANNEL_H
#define HYPERCALL_CHANNEL_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function: to partitions with a channel. */
bool channel_has_call(const struct vcpu *vcpu, uint32_t function);

/* Handles CALL_CHANNEL_NOTIFY or CALL_CHANNEL_SET_STATE. `registers`: X0 to X3. Returns X0. */
int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4]);

#endif
