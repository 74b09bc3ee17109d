/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers that change their owner only when another VCPU uses them: those of FP and SIMD, and the
 * debug registers with the performance monitors. While another VCPU has them, an access traps
 * (sharing_give_vectors() and sharing_give_register(), hypervisor/sharing.h).
 */
#ifndef SHARED_BORROWED_H
#define SHARED_BORROWED_H

#include "shared/core.h"

/* Gives the VCPU the debug registers with the performance monitors. */
void borrowed_give_debug(struct shared_core *core, const struct vcpu *vcpu);

/* Takes them from the VCPU that has them, if any. */
void borrowed_take_debug(struct shared_core *core);

#endif
