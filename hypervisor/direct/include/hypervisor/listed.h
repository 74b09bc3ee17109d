/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems without listed interrupts, on boards whose Group 0 is the hypervisor's: no interrupt
 * of a guest enters EL2. listed/ has a header of the same name with the same functions. */
#ifndef HYPERVISOR_LISTED_H
#define HYPERVISOR_LISTED_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool listed_is_supported(void)
{
    return false;
}

static inline bool listed_has(const struct partition *partition)
{
    (void)partition;
    return false;
}

static inline bool listed_shares_group1(const struct partition *partition)
{
    (void)partition;
    return false;
}

static inline bool listed_take(struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

static inline bool listed_resolve(struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

static inline const char *listed_start(struct vcpu *vcpu)
{
    (void)vcpu;
    return NULL;
}

static inline void listed_underflow(struct vcpu *vcpu)
{
    (void)vcpu;
}

static inline void listed_deactivate(struct vcpu *vcpu, uint64_t value)
{
    (void)vcpu;
    (void)value;
}

static inline void listed_revise(struct vcpu *vcpu)
{
    (void)vcpu;
}

static inline bool listed_is_pending(const struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

static inline void listed_reset(struct vcpu *vcpu)
{
    (void)vcpu;
}

static inline void listed_reset_partition(struct partition *partition)
{
    (void)partition;
}

static inline bool listed_is_revising(const struct vcpu *vcpu, uint32_t vcpus)
{
    (void)vcpu;
    (void)vcpus;
    return false;
}

struct listed_word {
    uint32_t pending;
    uint32_t active;
};

static inline struct listed_word listed_read(const struct vcpu *vcpu, uint32_t first)
{
    (void)vcpu;
    (void)first;
    return (struct listed_word){0, 0};
}

static inline uint32_t listed_announce(struct partition *partition, uint32_t targets)
{
    (void)partition;
    (void)targets;
    return 0;
}

static inline void listed_clear(struct vcpu *vcpu, uint32_t targets, uint32_t uncalled,
                                uint32_t offset, uint32_t first, uint32_t held)
{
    (void)vcpu;
    (void)targets;
    (void)uncalled;
    (void)offset;
    (void)first;
    (void)held;
}

#endif
