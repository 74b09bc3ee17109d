/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/muted.h"

#include "gic/internal.h"
#include "gic/physical.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

bool muted_has(const struct partition *partition, uint32_t number)
{
    return (muted_word(partition, number) >> number % 32 & 1) != 0;
}

/* Takes the lock. With it the muted interrupts and the enables in the Distributor agree: a guest
 * may disable an interrupt while a monitor on another core ends its mute. */
static struct list_changes *lock(const struct vcpu *vcpu)
{
    struct list_changes *changes = &vcpu->partition->atomic.changes;

    ticket_lock_take(&changes->lock, TICKET_LOCK_PATIENCE);
    return changes;
}

void muted_add(const struct vcpu *vcpu, uint32_t number)
{
    struct list_changes *changes = lock(vcpu);

    if (physical_is_enabled(vcpu, number)) {
        (void)__atomic_fetch_or(&changes->muted[number / 32], UINT32_C(1) << number % 32,
                                __ATOMIC_RELAXED);
        physical_disable_spi(vcpu, number);
    }
    ticket_lock_give(&changes->lock);
}

void muted_remove(const struct vcpu *vcpu, uint32_t number)
{
    uint32_t bit = UINT32_C(1) << number % 32;
    struct list_changes *changes;

    if (!muted_has(vcpu->partition, number)) {
        return;
    }
    changes = lock(vcpu);
    /* The guest may have disabled it since. */
    if ((__atomic_fetch_and(&changes->muted[number / 32], ~bit, __ATOMIC_RELAXED) & bit) != 0) {
        physical_enable(vcpu, number);
    }
    ticket_lock_give(&changes->lock);
}

uint32_t muted_write_enables(const struct vcpu *vcpu, uint32_t offset, uint32_t first,
                             uint32_t ones)
{
    struct list_changes *changes = lock(vcpu);
    uint32_t *word = &changes->muted[first / 32];
    uint32_t muted = __atomic_load_n(word, __ATOMIC_RELAXED) & ones;

    if (offset >= GIC_ICENABLER) {
        (void)__atomic_fetch_and(word, ~ones, __ATOMIC_RELAXED);
    } else {
        ones &= ~muted;
    }
    device_write32(gic_distributor(vcpu->partition->constant.system).interrupts + offset, ones);
    ticket_lock_give(&changes->lock);
    return muted;
}
