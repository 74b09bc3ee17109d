/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercalls of the back-end of a shared device (shared_device/shared_device.h). Images without
 * channels have shared_device/absent.c instead, which supports none of them. */
#ifndef HYPERCALL_SHARED_DEVICE_H
#define HYPERCALL_SHARED_DEVICE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function to the VCPU's guest: its partition is
 * the back-end of a shared device. */
bool shared_device_has_call(const struct vcpu *vcpu, uint32_t function);

/* Handles CALL_SHARED_DEVICE_INTERRUPT to CALL_SHARED_DEVICE_FAIL. `registers`: X0 to X3. Returns
 * X0: CALL_NOT_SUPPORTED if the partition is not the back-end of the device, or if the bytes of
 * CALL_SHARED_DEVICE_CONFIGURE are not in its configuration space. */
int64_t shared_device_call(const struct vcpu *vcpu, const uint64_t registers[4]);

#endif
