/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guests' writes to the GIC that change interrupts in list registers: a guest disables them, clears
 * their pending or active state, or routes them to another VCPU. The VCPU that has written records
 * the change and calls the VCPUs whose list registers may have the interrupts. Each of these
 * revises its list registers before its guest continues.
 */
#include "distributor/route.h"
#include "gic/internal.h"
#include "gic/listed.h"
#include "gic/listed_internal.h"
#include "gic/muted.h"
#include "gic/renumbered.h"
#include "gic/sgi.h"
#include "vcpu/same_core.h"
#include <devices/gic_registers.h>

#define SGI_BITS ((UINT32_C(1) << GIC_SGI_COUNT) - 1)

bool listed_is_revising(const struct vcpu *vcpu, uint32_t vcpus)
{
    uint32_t changed =
        __atomic_load_n(&vcpu->partition->atomic.changes.vcpus, __ATOMIC_ACQUIRE) & vcpus;

    return (changed & ~vcpus_on_same_core(vcpu)) != 0;
}

/* Returns the number whose bit in list_changes.listable an interrupt has (gic/renumbered.h). */
static uint32_t listable_bit(const struct partition *partition, uint32_t number)
{
    const struct description_partition *described = partition->constant.described;
    bool is_shown = described->console_shown != 0 && number == described->console_interrupt;

    return is_shown ? described->console_shown : number;
}

/* Returns those of the interrupts of a word that have their own bits there. */
static uint32_t own_bits(const struct partition *partition, uint32_t first, uint32_t interrupts)
{
    const struct description_partition *described = partition->constant.described;
    uint32_t number = described->console_interrupt;

    return described->console_shown != 0 && number / 32 == first / 32
               ? interrupts & ~(UINT32_C(1) << number % 32)
               : interrupts;
}

/* Records a clear for one VCPU's private interrupts, or for the SPIs. `vcpus`: that VCPU, or those
 * whose list registers may have the SPIs. */
static void record_clear(struct partition *partition, uint32_t vcpus, uint32_t offset,
                         uint32_t first, uint32_t held)
{
    struct list_changes *changes = &partition->atomic.changes;
    bool is_private = first < GIC_PRIVATE_COUNT;
    uint32_t vcpu = (uint32_t)__builtin_ctz(vcpus);

    if (offset == GIC_ICPENDR) {
        uint32_t *word =
            is_private ? &changes->private_listable[vcpu] : &changes->listable[first / 32];

        (void)__atomic_fetch_and(word, ~held, __ATOMIC_ACQ_REL);
        if (own_bits(partition, first, held) != held) {
            uint32_t shown = partition->constant.described->console_shown;

            (void)__atomic_fetch_and(&changes->listable[shown / 32], ~(UINT32_C(1) << shown % 32),
                                     __ATOMIC_ACQ_REL);
        }
    } else if (offset == GIC_ICACTIVER) {
        uint32_t bits = is_private ? held & SGI_BITS : list_changes_group(first);

        for (; vcpus != 0; vcpus &= vcpus - 1) {
            (void)__atomic_fetch_or(&changes->deactivated[__builtin_ctz(vcpus)], bits,
                                    __ATOMIC_ACQ_REL);
        }
    }
}

uint32_t listed_announce(struct partition *partition, uint32_t targets)
{
    return targets &
           ~__atomic_fetch_or(&partition->atomic.changes.vcpus, targets, __ATOMIC_SEQ_CST);
}

void listed_call(const struct vcpu *vcpu, uint32_t targets)
{
    gic_send_many(vcpu->partition, targets & ~(UINT32_C(1) << vcpu->number));
}

void listed_clear(struct vcpu *vcpu, uint32_t targets, uint32_t uncalled, uint32_t offset,
                  uint32_t first, uint32_t held)
{
    struct partition *partition = vcpu->partition;

    record_clear(partition, targets, offset, first, held);
    listed_call(vcpu, uncalled | listed_announce(partition, targets));
    listed_revise(vcpu);
}

/* `number`: of the bit (listable_bit()). */
static uint32_t *listable_word(const struct vcpu *vcpu, uint32_t number)
{
    struct list_changes *changes = &vcpu->partition->atomic.changes;

    return number < GIC_PRIVATE_COUNT ? &changes->private_listable[vcpu->number]
                                      : &changes->listable[number / 32];
}

bool listed_forget_clear(const struct vcpu *vcpu, uint32_t number)
{
    uint32_t bit;

    number = listable_bit(vcpu->partition, number);
    bit = UINT32_C(1) << number % 32;
    return (__atomic_fetch_or(listable_word(vcpu, number), bit, __ATOMIC_ACQ_REL) & bit) == 0;
}

/* Returns true if a guest of the partition has cleared the active state. The GIC has that of PPIs
 * and SPIs alone. An SPI may be inactive there for another reason (gic/muted.h). `deactivated`:
 * that of list_changes, since the VCPU has revised its list registers. */
static bool is_deactivated(const struct vcpu *vcpu, uint32_t number, uint32_t deactivated)
{
    if (number < GIC_SGI_COUNT) {
        return (deactivated >> number & 1) != 0;
    }
    return (number < GIC_PRIVATE_COUNT || (deactivated & list_changes_group(number)) != 0) &&
           !physical_is_active(vcpu, number);
}

static bool is_enabled(const struct vcpu *vcpu, uint32_t number)
{
    return physical_is_enabled(vcpu, number) || muted_has(vcpu->partition, number);
}

static uint64_t without_pending(uint64_t value)
{
    return (value & LIST_ACTIVE) != 0 ? value & ~LIST_PENDING : 0;
}

/* Returns the value that a used list register should have, after writes to the GIC. */
static uint64_t revised(const struct vcpu *vcpu, uint64_t value, uint32_t deactivated)
{
    uint32_t number = list_register_number(value);
    bool is_void = is_deactivated(vcpu, number, deactivated);
    bool is_cleared = listed_forget_clear(vcpu, number);

    if (is_void) {
        value &= ~LIST_ACTIVE;
    }
    if ((value & LIST_PENDING) == 0) {
        return value;
    }
    if (is_cleared) {
        if ((value & LIST_ACTIVE) == 0) {
            listed_end(vcpu, number);
        }
        return without_pending(value);
    }
    if ((is_void && number >= GIC_SGI_COUNT) || !is_enabled(vcpu, number) ||
        (number >= GIC_PRIVATE_COUNT && !route_is_to(vcpu, number))) {
        listed_return(vcpu, number);
        return without_pending(value);
    }
    return value;
}

static void revise_evicted(struct vcpu *vcpu, uint32_t deactivated)
{
    struct interrupt_list *list = &vcpu->list;

    for (uint32_t i = list->evicted_count; i-- != 0;) {
        uint32_t number = list->evicted[i] & EVICTED_NUMBER;

        if (listed_forget_clear(vcpu, number)) {
            list->evicted[i] = (uint16_t)number;
        }
        if (is_deactivated(vcpu, number, deactivated)) {
            listed_end_evicted(vcpu, i);
        }
    }
}

/* Makes the interrupts pending in the GIC again that were set aside and that no guest has cleared
 * since. By words, because a VCPU may have all its SGIs and SPIs set aside. */
static void revise_aside(struct vcpu *vcpu)
{
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        uint32_t aside = vcpu->list.aside[word], own, cleared;

        if (aside == 0) {
            continue;
        }
        own = own_bits(vcpu->partition, 32 * word, aside);
        cleared = own & ~__atomic_fetch_or(listable_word(vcpu, 32 * word), own, __ATOMIC_ACQ_REL);
        if (own != aside &&
            listed_forget_clear(vcpu, vcpu->partition->constant.described->console_interrupt)) {
            cleared |= aside & ~own;
        }
        vcpu->list.aside[word] = aside & ~cleared;
        listed_end_word(vcpu, word, cleared);
    }
    listed_bring_back(vcpu);
}

/* Not inline, because every exit asks for changes, and there are seldom some. */
__attribute__((noinline)) void listed_apply_changes(struct vcpu *vcpu)
{
    struct list_changes *changes = &vcpu->partition->atomic.changes;
    uint32_t bit = UINT32_C(1) << vcpu->number, deactivated;
    struct lists lists;

    /* A change of the GIC from here on sets the bit again. */
    (void)__atomic_fetch_and(&changes->vcpus, ~bit, __ATOMIC_ACQ_REL);
    deactivated = __atomic_exchange_n(&changes->deactivated[vcpu->number], 0, __ATOMIC_ACQ_REL);
    lists = listed_fold(vcpu);
    revise_evicted(vcpu, deactivated);
    revise_aside(vcpu);
    for (unsigned i = 0; i < lists.count; i++) {
        if ((lists.values[i] & LIST_STATE) != 0) {
            lists.values[i] = revised(vcpu, lists.values[i], deactivated);
        }
    }
    listed_flush(&lists);
}

void listed_reset_partition(struct partition *partition)
{
    struct list_changes *changes = &partition->atomic.changes;
    uint32_t console = partition->constant.described->console_interrupt;
    uint32_t shown = partition->constant.described->console_shown;

    changes->vcpus = 0;
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        changes->listable[word] = partition->constant.interrupts[word];
        changes->muted[word] = 0;
    }
    if (shown != 0) {
        changes->listable[console / 32] &= ~(UINT32_C(1) << console % 32);
        changes->listable[shown / 32] |= UINT32_C(1) << shown % 32;
    }
    for (uint32_t vcpu = 0; vcpu < DESCRIPTION_VCPUS_MAX; vcpu++) {
        changes->private_listable[vcpu] = PRIVATE_GUEST;
        changes->deactivated[vcpu] = 0;
    }
}
