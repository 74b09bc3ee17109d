/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the manager: vendor-specific hypervisor services (DEN0028), with arguments of 64 bits.
 * Only the boot VCPU of the manager may make them; all others get NOT_SUPPORTED. X1 is the index of
 * a partition in the system file. X0 is enum manager_result, unless stated otherwise.
 */
#ifndef MANAGER_CALLS_H
#define MANAGER_CALLS_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

/* X0: enum partition_state, or MANAGER_INVALID. X1: the result of the last order. */
#define MANAGER_STATUS 0xc6000010u
/* The order is given when the call returns MANAGER_DONE; the partition carries it out later. */
#define MANAGER_CREATE 0xc6000011u
#define MANAGER_START  0xc6000012u
#define MANAGER_STOP   0xc6000013u
/* X2: where the image is in staging (bits 63:32, a multiple of the page size) and its bytes (31:0).
 * X3: CRC-32 of it. Each call checks a part of the image; the last one gives the order. */
#define MANAGER_REPLACE 0xc6000014u
#define MANAGER_DESTROY 0xc6000015u

/* Handles a call. `registers`: X0 to X3. Returns X0. */
int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
