/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU interface of a core whose guest waits in its monitor until time has passed, and not for
 * an interrupt. Called on the core. */
#ifndef GIC_HELD_GUEST_H
#define GIC_HELD_GUEST_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

/* Lets no direct interrupt of the guest end a WFI of this core, and lets those of the hypervisor be
 * signalled whatever active priority the guest has feigned (docs/decisions/0013). Returns the value
 * for gic_release_guest(). No effect with listed interrupts: the monitor takes them meanwhile, and
 * such a guest can't block those of the hypervisor. */
uint64_t gic_hold_guest(const struct vcpu *vcpu);
void gic_release_guest(struct vcpu *vcpu, uint64_t held);

#endif
