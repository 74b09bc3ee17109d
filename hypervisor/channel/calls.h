/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls for channels: vendor-specific hypervisor services (DEN0028), with arguments of 32 bits. W1
 * is the index of a channel in the description, of which the caller's partition is an end. X0 is
 * CALL_SUCCESS, or CALL_NOT_SUPPORTED if it is no end of such a channel.
 */
#ifndef CHANNEL_CALLS_H
#define CHANNEL_CALLS_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Rings the doorbell of the other end. */
#define CHANNEL_NOTIFY 0x86000020u
/* W2: the state of the caller's end from now on. Writes it to the state page, after all that the
 * caller has written before, and rings the doorbell of the other end. */
#define CHANNEL_SET_STATE 0x86000021u

/* Returns true if SMCCC_ARCH_FEATURES announces the function: to partitions with a channel. */
bool channel_has_call(const struct vcpu *vcpu, uint32_t function);

/* Handles a call. `registers`: X0 to X3. Returns X0. */
int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4]);

#endif
