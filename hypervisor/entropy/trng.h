/* SPDX-License-Identifier: BSD-2-Clause */
/* The TRNG firmware interface for guests (Arm DEN0098, 1.0). Each call computes one block at most,
 * and the calling VCPU pays for it as for any exit. */
#ifndef HYPERVISOR_TRNG_H
#define HYPERVISOR_TRNG_H

#include "entropy/state.h"
#include <stdint.h>

/* Handles a call from CALL_TRNG_VERSION to CALL_TRNG_RND32, or CALL_TRNG_RND64. `generator`: that
 * of the calling VCPU. `registers`: X0 to X3; GET_UUID and the two RNDs write X1 to X3, too.
 * Returns X0: CALL_NOT_SUPPORTED for all calls if the generator is not seeded. */
int64_t trng_call(struct generator *generator, uint64_t registers[4]);

#endif
