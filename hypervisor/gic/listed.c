/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations on listed interrupts off the fast path (listed_resident.c): too few list
 * registers, interrupts that come again, maintenance interrupts, deactivation, reset.
 * listed_changes.c has the operation after a guest has written to the GIC.
 *
 * Each operation begins with listed_fold(), which reads the list registers into a copy, works on
 * the copy, and ends with listed_flush(), which writes it back.
 *
 * The states of an interrupt for a VCPU, and the transitions between them:
 *
 *       +--------------- 2 ----------------+
 *       v                                  |
 *   in the GIC ------- 1 ----> listed:  pending --- 5 ---> active ------- 6 -----> active and
 *     |    ^                               |               |    ^                  pending
 *     3    4                               |               7    8                  |    ^
 *     v    |                               |               v    |                  7    8
 *   set aside <-------------- 3 -----------+    evicted:  active -- 6 --+          v    |
 *                                                                       +------> active and
 *                                                                                pending
 *
 *   1  listed_take(), or list_acknowledged() for an interrupt that it could not list
 *   2  wait_for_list_register() on a core of the VCPU's own, listed_reset(), and revised() if the
 *      interrupt was disabled or routed to another VCPU: it is pending in the GIC then. revised(),
 *      too, if a guest has cleared the pending state: it is inactive there
 *   3  wait_for_list_register() on a shared core; listed_set_aside(), for an interrupt that has
 *      come while another VCPU executed
 *   4  listed_bring_back(), for all that are set aside; revise_aside() leaves out those whose
 *      pending state a guest has cleared
 *   5  the guest acknowledges it
 *   6  lists_pend() and pend_evicted(), in listed_resolve(). Back: revised() and revise_evicted(),
 *      if a guest has cleared the pending state
 *   7  lists_evict(), in make_room() and lists_close()
 *   8  lists_readmit()
 *
 * An active state ends when the guest ends or deactivates a listed interrupt, in
 * listed_deactivate(), in listed_fold() if the guest has ended an evicted one, and in revised() and
 * revise_evicted() if a guest has cleared it. An interrupt that was only active is inactive in the
 * GIC then. One that was pending, too, is listed and pending, or pending in the GIC if it was
 * evicted.
 *
 * Only an SGI is active and pending here: the pending state of an active PPI or SPI is the GIC's. A
 * PPI or SPI that is listed, evicted or set aside is active in the GIC, so that it is signalled
 * once. An SGI is inactive there, so that it may be signalled again.
 *
 * An SPI that arrives nevertheless, because a guest of another partition has ended its active
 * state, is muted (gic/muted.h). If it is listed, its list register has no HW bit from then on, and
 * its end enters EL2. The mute ends with the active state, or with transitions 2 and 4. So a guest
 * of another partition causes at most two exits for each interrupt of this one that is listed, and
 * one each time that this one is set aside.
 *
 * The guest does not execute and no interrupt is taken during an operation. So neither can tell in
 * which order the operation accesses the GIC, the list registers, ICH_HCR_EL2 and ICC_PMR_EL1,
 * except for these (IHI 0069):
 *
 * - ICH_HCR_EL2 is read before it is written, because the write clears EOIcount.
 * - The list registers themselves are read, because ICH_ELRSR_EL2 shows what this exit has written
 *   to them only after a context synchronization event.
 * - A PPI or SPI is made pending before it is deactivated (GICD_ISPENDR<n>, GICD_ICACTIVER<n>). In
 *   the other order a guest on another core could read that an SPI is neither.
 * - listed_reset() masks all interrupts of the guest after listed_flush(), which may open the mask.
 *   A write to ICC_PMR_EL1 is self-synchronizing: it needs no barrier before the core waits.
 * - listed_apply_changes() clears the VCPU's bit in list_changes.vcpus before it reads the GIC.
 * Monitors on other cores write to the GIC before they set the bit.
 */
#include "gic/listed.h"

#include "distributor/route.h"
#include "gic/internal.h"
#include "gic/listed_internal.h"
#include "gic/muted.h"
#include "gic/renumbered.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <devices/gic_registers.h>

bool listed_is_supported(void)
{
    return true;
}

/* Writes ICC_PMR_EL1: signals only interrupts that are more urgent than `priority`, a priority or
 * LISTS_IDLE. On a shared core all are signalled, because the mask would hold up those of other
 * VCPUs, too. */
static void mask_priorities(const struct vcpu *vcpu, uint32_t priority)
{
    if (vcpu_shares_core(vcpu) || priority > PRIORITY_MASK_OPEN) {
        priority = PRIORITY_MASK_OPEN;
    }
    gic_registers_mask(vcpu->list.is_raw ? 0x80 | priority >> 1 : priority);
}

/* Ends the evicted interrupts whose ends EOIcount has counted. The guest ends interrupts in the
 * order of their urgency, so the one evicted last first. `control`: ICH_HCR_EL2. */
static void end_counted(struct vcpu *vcpu, uint64_t control)
{
    const struct interrupt_list *list = &vcpu->list;

    for (uint32_t ends = (uint32_t)(control & LIST_CONTROL_ENDS) >> LIST_CONTROL_ENDS_SHIFT;
         ends != 0 && list->evicted_count != 0; ends--) {
        listed_end_evicted(vcpu, list->evicted_count - 1);
    }
}

void listed_end(const struct vcpu *vcpu, uint32_t number)
{
    physical_deactivate(vcpu, number);
    muted_remove(vcpu, number);
}

/* Ends a muted interrupt that is neither pending nor active for the guest any more. `value`: of its
 * list register. */
static void end_noticed(const struct vcpu *vcpu, uint64_t value)
{
    if (list_register_has_notice(value)) {
        listed_end(vcpu, list_register_number(value));
    }
}

struct lists listed_fold(struct vcpu *vcpu)
{
    struct lists lists;

    lists.vcpu = vcpu;
    lists.count = gic_registers_list_count();
    for (unsigned i = 0; i < lists.count; i++) {
        uint64_t value = renumbered_list(vcpu->partition, gic_registers_listed(i));

        lists.values[i] = (value & LIST_STATE) != 0 ? value : 0;
        end_noticed(vcpu, value);
    }
    lists.control = gic_registers_list_control();
    lists.guest_splits = gic_registers_guest_splits_end();
    lists.running = gic_registers_guest_running_priority();
    lists.threshold = vcpu->list.threshold;
    end_counted(vcpu, lists.control);
    return lists;
}

void listed_flush(const struct lists *lists)
{
    struct interrupt_list *list = &lists->vcpu->list;
    uint64_t control = lists_control(lists);

    for (unsigned i = 0; i < lists->count; i++) {
        uint64_t value = (lists->values[i] & LIST_STATE) != 0 ? lists->values[i] : 0;

        end_noticed(lists->vcpu, lists->values[i]);
        list->numbers[i] = (uint16_t)list_register_number(value);
        gic_registers_list(i, renumbered_list(lists->vcpu->partition, value));
    }
    if (control != lists->control) {
        gic_registers_control_lists(control);
    }
    if (list->threshold != lists->threshold) {
        list->threshold = lists->threshold;
        mask_priorities(lists->vcpu, lists->threshold);
    }
}

void listed_return(const struct vcpu *vcpu, uint32_t number)
{
    physical_pend_edge(vcpu, number);
    listed_end(vcpu, number);
}

static bool is_aside(const struct vcpu *vcpu, uint32_t number)
{
    return (vcpu->list.aside[number / 32] >> number % 32 & 1) != 0;
}

void listed_set_aside(struct vcpu *vcpu, uint32_t number)
{
    if (number >= GIC_PRIVATE_COUNT && is_aside(vcpu, number)) {
        muted_add(vcpu, number);
    }
    vcpu->list.aside[number / 32] |= UINT32_C(1) << number % 32;
    vcpu->list.has_aside = true;
}

void listed_end_word(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts)
{
    physical_deactivate_word(vcpu, word, interrupts);
    for (uint32_t muted = muted_word(vcpu->partition, 32 * word) & interrupts; muted != 0;
         muted &= muted - 1) {
        muted_remove(vcpu, 32 * word + (uint32_t)__builtin_ctz(muted));
    }
}

void listed_bring_back(struct vcpu *vcpu)
{
    if (!vcpu->list.has_aside) {
        return;
    }
    vcpu->list.has_aside = false;
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        uint32_t aside = vcpu->list.aside[word];

        if (aside != 0) {
            vcpu->list.aside[word] = 0;
            physical_pend_edges(vcpu, word, aside);
            listed_end_word(vcpu, word, aside);
        }
    }
}

void listed_end_evicted(struct vcpu *vcpu, uint32_t evicted)
{
    struct interrupt_list *list = &vcpu->list;
    uint32_t number = list->evicted[evicted] & EVICTED_NUMBER;
    bool is_pending = (list->evicted[evicted] & EVICTED_PENDING) != 0;

    listed_end(vcpu, number);
    if (is_pending) {
        listed_return(vcpu, number);
    }
    lists_remove_evicted(list, evicted);
}

/* Lets an acknowledged interrupt wait that gets no list register: in the GIC, where the mask of
 * priorities holds it up, or aside if there is no mask because the core is shared. */
static void wait_for_list_register(struct vcpu *vcpu, uint32_t number)
{
    if (vcpu_shares_core(vcpu)) {
        listed_set_aside(vcpu, number);
    } else {
        listed_return(vcpu, number);
    }
}

static bool is_of_guest(const struct vcpu *vcpu, uint32_t number)
{
    return number < GIC_PRIVATE_COUNT ? (PRIVATE_GUEST >> number & 1) != 0
                                      : partition_owns_interrupt(vcpu->partition, number);
}

/* Returns true if the interrupt is the guest's, and for this VCPU of its partition. */
static bool is_for_vcpu(const struct vcpu *vcpu, uint32_t number)
{
    return is_of_guest(vcpu, number) && (number < GIC_PRIVATE_COUNT || route_is_to(vcpu, number));
}

/* Removes the interrupt, if there is one, from a list register that another interrupt gets. */
static void make_room(struct lists *lists, unsigned index)
{
    uint64_t value = lists->values[index];

    if ((value & LIST_ACTIVE) != 0) {
        lists_evict(lists, index);
    } else if ((value & LIST_PENDING) != 0) {
        wait_for_list_register(lists->vcpu, list_register_number(value));
    }
}

/* Lists an acknowledged interrupt that is neither listed nor evicted, or lets it wait. */
static void list_acknowledged(struct lists *lists, uint32_t number, uint32_t priority)
{
    struct vcpu *vcpu = lists->vcpu;
    bool was_full = lists_find_free(lists) == LISTS_NONE;
    unsigned index = lists_choose(lists, priority);

    if (index == LISTS_NONE) {
        wait_for_list_register(vcpu, number);
    } else if (lists_has_aside_before(lists, priority)) {
        /* The GIC signals them all again, in the order of their urgency. */
        listed_set_aside(vcpu, number);
        listed_bring_back(vcpu);
        return;
    } else {
        make_room(lists, index);
        lists->values[index] = list_register(number, priority, LIST_PENDING);
    }
    if (was_full) {
        lists_close(lists);
    }
}

/* Returns true if a guest of the partition has written to the GIC, and the list registers of the
 * VCPU do not agree with the write yet. */
static bool has_to_revise(const struct vcpu *vcpu)
{
    return (__atomic_load_n(&vcpu->partition->atomic.changes.vcpus, __ATOMIC_ACQUIRE) >>
                vcpu->number &
            1) != 0;
}

/* Returns true if an acknowledged SPI is listed, evicted or set aside, and no guest of the
 * partition has ended its active state. `index`, `evicted`: where it was found. */
static bool has_come_again(const struct vcpu *vcpu, uint32_t number, unsigned index,
                           uint32_t evicted)
{
    bool is_held = index != LISTS_NONE || evicted != vcpu->list.evicted_count;

    return number >= GIC_PRIVATE_COUNT &&
           (is_aside(vcpu, number) || (is_held && !has_to_revise(vcpu)));
}

/* Mutes an SPI that has come again. It is active in the GIC, as it is or will be for the guest. An
 * edge that the guest has not seen is kept in the GIC. */
static void mute(struct lists *lists, uint32_t number, unsigned index)
{
    const struct vcpu *vcpu = lists->vcpu;
    bool is_pending =
        index != LISTS_NONE ? (lists->values[index] & LIST_PENDING) != 0 : is_aside(vcpu, number);

    if (!is_pending) {
        physical_pend_edge(vcpu, number);
    }
    muted_add(vcpu, number);
    if (index != LISTS_NONE) {
        lists->values[index] = list_register_with_notice(lists->values[index]);
    }
}

/* Makes an evicted interrupt pending that was acknowledged once more. For an SGI that is usual. A
 * PPI or SPI is active in the GIC again, as it is for the guest: then only an edge has to be kept.
 * So an interrupt is evicted once at most. */
static void pend_evicted(struct vcpu *vcpu, uint32_t evicted)
{
    uint32_t number = vcpu->list.evicted[evicted] & EVICTED_NUMBER;

    if (number < GIC_SGI_COUNT) {
        vcpu->list.evicted[evicted] |= EVICTED_PENDING;
    } else {
        physical_pend_edge(vcpu, number);
    }
}

bool listed_resolve(struct vcpu *vcpu)
{
    const struct interrupt_list *list = &vcpu->list;
    uint32_t number = list->number, evicted;
    struct lists lists;
    unsigned index;

    if (!is_for_vcpu(vcpu, number)) {
        return false;
    }
    vcpu->report.exits[EXIT_LISTED]++;
    lists = listed_fold(vcpu);
    (void)listed_forget_clear(vcpu, number);
    if (number < GIC_SGI_COUNT) {
        gic_registers_deactivate(number);
    }
    index = lists_find(&lists, number);
    evicted = lists_find_evicted(list, number);
    if (has_come_again(vcpu, number, index, evicted)) {
        mute(&lists, number, index);
    } else if (index != LISTS_NONE) {
        lists_pend(&lists, index);
    } else if (evicted != list->evicted_count) {
        pend_evicted(vcpu, evicted);
    } else {
        list_acknowledged(&lists, number, list->priority);
    }
    listed_flush(&lists);
    return true;
}

/* Lets the interrupts that wait be signalled again. */
static void end_wait(struct lists *lists)
{
    lists_open(lists);
    listed_bring_back(lists->vcpu);
}

/* Gives the most urgent of the evicted interrupts list registers again, as many as keep the
 * underflow interrupt from being asserted. */
static void readmit(struct lists *lists)
{
    const struct interrupt_list *list = &lists->vcpu->list;

    while (list->evicted_count != 0 && lists_count(lists, LIST_STATE) < LIST_REGISTERS_MIN) {
        uint32_t number = list->evicted[list->evicted_count - 1] & EVICTED_NUMBER;

        lists_readmit(lists, physical_priority(lists->vcpu, number),
                      muted_has(lists->vcpu->partition, number));
    }
}

void listed_underflow(struct vcpu *vcpu)
{
    struct lists lists = listed_fold(vcpu);

    if (!lists.guest_splits) {
        readmit(&lists);
    }
    end_wait(&lists);
    listed_flush(&lists);
}

void listed_deactivate(struct vcpu *vcpu, uint64_t value)
{
    uint32_t number = renumbered(vcpu->partition, (uint32_t)value & 0xffffff), evicted;
    struct lists lists;
    unsigned index;

    if (number > GIC_SPI_LAST || !is_of_guest(vcpu, number)) {
        return;
    }
    lists = listed_fold(vcpu);
    index = lists_find(&lists, number);
    evicted = lists_find_evicted(&vcpu->list, number);
    if (evicted != vcpu->list.evicted_count) {
        listed_end_evicted(vcpu, evicted);
    } else if (index == LISTS_NONE) {
        physical_deactivate(vcpu, number);
    } else if ((lists.values[index] & LIST_ACTIVE) != 0) {
        lists.values[index] &= ~LIST_ACTIVE;
        physical_deactivate(vcpu, number);
    }
    /* An SGI that is pending again may be less urgent than an interrupt that waits. */
    end_wait(&lists);
    listed_flush(&lists);
}

/* Returns true if one of the list registers is pending and not active. `used`: those that are not
 * free: bits. Not inline, because mostly none is used. */
static __attribute__((noinline)) bool is_one_pending(uint32_t used)
{
    for (; used != 0; used &= used - 1) {
        if ((gic_registers_listed((unsigned)__builtin_ctz(used)) & LIST_STATE) == LIST_PENDING) {
            return true;
        }
    }
    return false;
}

/* Not inline, because several rare paths call it. */
__attribute__((noinline)) bool listed_is_pending(const struct vcpu *vcpu)
{
    uint32_t used;

    gic_registers_settle_lists();
    used = ~gic_registers_free_lists() & vcpu->list.registers;
    if (used == 0) {
        return false;
    }
    return is_one_pending(used);
}

/* Adds an interrupt to the word, if it is one of the word's from `first` on. */
static void add(struct listed_word *word, uint32_t first, uint32_t number, bool is_pending,
                bool is_active)
{
    uint32_t bit = number / 32 == first / 32 ? UINT32_C(1) << number % 32 : 0;

    word->pending |= is_pending ? bit : 0;
    word->active |= is_active ? bit : 0;
}

struct listed_word listed_read(struct vcpu *vcpu, uint32_t first)
{
    const struct interrupt_list *list = &vcpu->list;
    unsigned count = gic_registers_list_count();
    struct listed_word word = {0, 0};

    /* Evicted interrupts may have ended, and the maintenance interrupt for that may come later. */
    if (list->evicted_count != 0 && (gic_registers_list_control() & LIST_CONTROL_ENDS) != 0) {
        listed_underflow(vcpu);
    }
    word.pending = list->aside[first / 32];
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = renumbered_list(vcpu->partition, gic_registers_listed(i));

        add(&word, first, list_register_number(value), (value & LIST_PENDING) != 0,
            (value & LIST_ACTIVE) != 0);
    }
    for (uint32_t i = 0; i < list->evicted_count; i++) {
        uint32_t evicted = list->evicted[i];

        add(&word, first, evicted & EVICTED_NUMBER, (evicted & EVICTED_PENDING) != 0, true);
    }
    return word;
}

const char *listed_start(struct vcpu *vcpu)
{
    if (gic_registers_list_count() < LIST_REGISTERS_MIN) {
        return "listed interrupts need two list registers, not in core";
    }
    gic_registers_split_ends();
    vcpu->list.deactivation_trap = (gic_registers_virtual_type() & ICH_VTR_TRAP_DIR) != 0
                                       ? LIST_CONTROL_TRAP_DIR
                                       : LIST_CONTROL_TRAP_COMMON;
    vcpu->list.registers = (UINT32_C(1) << gic_registers_list_count()) - 1;
    vcpu->list.is_raw =
        vcpu->partition->constant.shares_group1 && gic_registers_mask_has_lowest_priority();
    return NULL;
}

void listed_reset(struct vcpu *vcpu)
{
    struct interrupt_list *list = &vcpu->list;
    struct lists lists;

    for (; list->evicted_count != 0; list->evicted_count--) {
        muted_remove(vcpu, list->evicted[list->evicted_count - 1] & EVICTED_NUMBER);
    }
    lists = listed_fold(vcpu);
    for (unsigned i = 0; i < lists.count; i++) {
        uint64_t value = lists.values[i];
        uint32_t number = list_register_number(value);

        /* Not one whose active state the reset of the partition has cleared. */
        if ((value & LIST_STATE) == LIST_PENDING && number >= GIC_PRIVATE_COUNT &&
            is_of_guest(vcpu, number) && physical_is_active(vcpu, number)) {
            listed_return(vcpu, number);
        }
        muted_remove(vcpu, number);
        lists.values[i] = 0;
    }
    gic_registers_reset_virtual();
    gic_registers_enable_group1();
    vcpu->list.aside[0] = 0; /* SGIs and PPIs are not pending either */
    end_wait(&lists);
    listed_flush(&lists);
    mask_priorities(vcpu, PRIORITY_MASK_OWN);
}
