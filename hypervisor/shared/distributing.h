/* SPDX-License-Identifier: BSD-2-Clause */
/* The interrupt distributor: what the scheduler of a shared core tells it. */
#ifndef SHARED_DISTRIBUTING_H
#define SHARED_DISTRIBUTING_H

#include "shared/core.h"
#include <stdint.h>

/* Called when the hypervisor executes anyway, and all execution until now has been charged. Returns
 * `now`. */
uint64_t distributing_look(const struct processor *processor, uint64_t now);

/* The VCPU's guest does not execute any more: it gives back what it has taken. */
void distributing_leave(struct vcpu *vcpu);

#endif
