/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems in which each VCPU has a core of its own: interrupts have the routes that the guest
 * writes, and are not counted. shared/ has a header of the same name with the same functions. */
#ifndef HYPERVISOR_DISTRIBUTING_H
#define HYPERVISOR_DISTRIBUTING_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

static inline void distributing_count(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
}

static inline struct distribution_source *distributing_find(struct partition *partition,
                                                            uint32_t number)
{
    (void)partition;
    (void)number;
    return NULL;
}

static inline void distributing_begin_route(struct partition *partition,
                                            struct distribution_source *source, uint32_t vcpu)
{
    (void)partition;
    (void)source;
    (void)vcpu;
}

static inline void distributing_end_route(struct partition *partition)
{
    (void)partition;
}

static inline bool distributing_is_elsewhere(const struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
    return false;
}

#endif
