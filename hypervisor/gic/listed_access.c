/* SPDX-License-Identifier: BSD-2-Clause */
/* What a guest reads and writes of interrupts that are in list registers. */
#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <devices/gic_registers.h>

bool listed_is_revising(const struct vcpu *vcpu, uint32_t vcpus)
{
    uint32_t changed =
        __atomic_load_n(&vcpu->partition->atomic.changes.vcpus, __ATOMIC_ACQUIRE) & vcpus;

    return (changed & ~vcpus_on_same_core(vcpu)) != 0;
}

struct listed_word listed_read(const struct vcpu *vcpu, uint32_t first)
{
    const struct interrupt_list *list = &vcpu->list;
    struct listed_word word = {0, 0};
    unsigned count = gic_registers_list_count();

    for (unsigned i = 0; i < count; i++) {
        uint64_t value = gic_registers_listed(i);
        uint32_t bit = UINT32_C(1) << list_register_number(value) % 32;

        if (list_register_number(value) / 32 == first / 32) {
            word.pending |= (value & LIST_PENDING) != 0 ? bit : 0;
            word.active |= (value & LIST_ACTIVE) != 0 ? bit : 0;
        }
    }
    word.pending |= list->aside[first / 32];
    for (uint32_t i = 0; i < list->evicted_count; i++) {
        uint32_t number = list->evicted[i] & EVICTED_NUMBER, bit = UINT32_C(1) << number % 32;

        if (number / 32 == first / 32) {
            word.active |= bit;
            word.pending |= (list->evicted[i] & EVICTED_PENDING) != 0 ? bit : 0;
        }
    }
    return word;
}

/* Notes a clear for one VCPU's private interrupts, or for the SPIs. */
static void note(struct list_changes *changes, uint32_t vcpu, uint32_t offset, uint32_t first,
                 uint32_t held)
{
    bool is_private = first < GIC_PRIVATE_COUNT;

    if (offset == GIC_ICPENDR) {
        uint32_t *word =
            is_private ? &changes->private_listable[vcpu] : &changes->listable[first / 32];

        (void)__atomic_fetch_and(word, ~held, __ATOMIC_ACQ_REL);
    } else if (offset == GIC_ICACTIVER && is_private) {
        (void)__atomic_fetch_or(&changes->private_deactivated[vcpu], held, __ATOMIC_ACQ_REL);
    }
}

uint32_t listed_announce(struct partition *partition, uint32_t targets)
{
    return targets &
           ~__atomic_fetch_or(&partition->atomic.changes.vcpus, targets, __ATOMIC_SEQ_CST);
}

void listed_call(const struct vcpu *vcpu, uint32_t targets)
{
    for (uint32_t other = 0; other < vcpu->partition->constant.described->vcpu_count; other++) {
        if ((targets >> other & 1) != 0 && other != vcpu->number) {
            gic_send(vcpu->partition, other);
        }
    }
}

void listed_clear(struct vcpu *vcpu, uint32_t targets, uint32_t uncalled, uint32_t offset,
                  uint32_t first, uint32_t held)
{
    struct partition *partition = vcpu->partition;

    note(&partition->atomic.changes, (uint32_t)__builtin_ctz(targets), offset, first, held);
    listed_call(vcpu, uncalled | listed_announce(partition, targets));
    listed_revise(vcpu);
}
