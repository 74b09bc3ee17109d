/* SPDX-License-Identifier: BSD-2-Clause */
/* For images without listed interrupts, on boards whose Group 0 is the hypervisor's: no interrupt
 * of a guest enters EL2. */
#include "gic/listed.h"

#include "gic/muted.h"
#include "gic/renumbered.h"
#include <stddef.h>

bool listed_is_supported(void)
{
    return false;
}

bool listed_resolve(struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

const char *listed_start(struct vcpu *vcpu)
{
    (void)vcpu;
    return NULL;
}

void listed_underflow(struct vcpu *vcpu)
{
    (void)vcpu;
}

void listed_deactivate(struct vcpu *vcpu, uint64_t value)
{
    (void)vcpu;
    (void)value;
}

void listed_apply_changes(struct vcpu *vcpu)
{
    (void)vcpu;
}

bool listed_is_pending(const struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

void listed_reset(struct vcpu *vcpu)
{
    (void)vcpu;
}

void listed_reset_partition(struct partition *partition)
{
    (void)partition;
}

bool listed_is_revising(const struct vcpu *vcpu, uint32_t vcpus)
{
    (void)vcpu;
    (void)vcpus;
    return false;
}

struct listed_word listed_read(struct vcpu *vcpu, uint32_t first)
{
    (void)vcpu;
    (void)first;
    return (struct listed_word){0, 0};
}

uint32_t listed_announce(struct partition *partition, uint32_t targets)
{
    (void)partition;
    (void)targets;
    return 0;
}

void listed_clear(struct vcpu *vcpu, uint32_t targets, uint32_t uncalled, uint32_t offset,
                  uint32_t first, uint32_t held)
{
    (void)vcpu;
    (void)targets;
    (void)uncalled;
    (void)offset;
    (void)first;
    (void)held;
}

uint32_t muted_write_enables(const struct vcpu *vcpu, uint32_t offset, uint32_t first,
                             uint32_t ones)
{
    (void)vcpu;
    (void)offset;
    (void)first;
    (void)ones;
    return 0;
}

enum access_result renumbered_access(struct vcpu *vcpu, struct access *access)
{
    (void)vcpu;
    (void)access;
    return ACCESS_REFUSED;
}
