/* SPDX-License-Identifier: BSD-2-Clause */
/* List registers beyond the usual way: too few of them, and guests that change an interrupt's state
 * while it is listed. */
#include "gic/listed.h"

#include "distributor/route.h"
#include "gic/internal.h"
#include "gic/list_register.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define NO_LIST_REGISTER LIST_REGISTERS_MAX

bool listed_is_supported(void)
{
    return true;
}

static struct gic_frame frame_of(const struct vcpu *vcpu, uint32_t number)
{
    return number < GIC_PRIVATE_COUNT ? gic_private(partition_core(vcpu->partition, vcpu->number))
                                      : gic_distributor(vcpu->partition->constant.system);
}

/* Returns the interrupt's bit in the register with one bit each at `offset`. */
static bool gic_bit(const struct vcpu *vcpu, uint32_t number, uint32_t offset)
{
    uintptr_t word = frame_of(vcpu, number).interrupts + UINT64_C(4) * (number / 32);

    return (device_read32(word + offset) >> number % 32 & 1) != 0;
}

static void set_gic_bit(const struct vcpu *vcpu, uint32_t number, uint32_t offset)
{
    uintptr_t word = frame_of(vcpu, number).interrupts + UINT64_C(4) * (number / 32);

    device_write32(word + offset, UINT32_C(1) << number % 32);
}

static bool is_edge_triggered(const struct vcpu *vcpu, uint32_t number)
{
    uintptr_t word = frame_of(vcpu, number).interrupts + GIC_ICFGR + UINT64_C(4) * (number / 16);

    return (device_read32(word) >> (number % 16 * 2 + 1) & 1) != 0;
}

/* Has no effect on an interrupt that is not active, unlike ICC_DIR_EL1. */
static void deactivate(const struct vcpu *vcpu, uint32_t number)
{
    if (number >= GIC_SGI_COUNT) {
        set_gic_bit(vcpu, number, GIC_ICACTIVER);
    }
}

void listed_return(const struct vcpu *vcpu, uint32_t number)
{
    if (is_edge_triggered(vcpu, number)) {
        set_gic_bit(vcpu, number, GIC_ISPENDR);
    }
    deactivate(vcpu, number);
}

/* There is no list register for an interrupt that was acknowledged: it waits in the GIC, where the
 * mask of priorities holds it up. On a shared core the mask would hold up other VCPUs' interrupts,
 * too. */
static void let_wait(struct vcpu *vcpu, uint32_t number)
{
    if (vcpu_shares_core(vcpu)) {
        listed_set_aside(vcpu, number);
    } else {
        listed_return(vcpu, number);
    }
}

void listed_set_aside(struct vcpu *vcpu, uint32_t number)
{
    vcpu->list.aside[number / 32] |= UINT32_C(1) << number % 32;
    vcpu->list.has_aside = true;
}

void listed_bring_back(struct vcpu *vcpu)
{
    if (!vcpu->list.has_aside) {
        return;
    }
    vcpu->list.has_aside = false;
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        uint32_t *aside = &vcpu->list.aside[word];

        for (; *aside != 0; *aside &= *aside - 1) {
            listed_return(vcpu, word * 32 + (uint32_t)__builtin_ctz(*aside));
        }
    }
}

static uint32_t *listable_word(const struct vcpu *vcpu, uint32_t number)
{
    struct list_changes *changes = &vcpu->partition->atomic.changes;

    return number < GIC_PRIVATE_COUNT ? &changes->private_listable[vcpu->number]
                                      : &changes->listable[number / 32];
}

/* Returns true if a guest has cleared the interrupt's pending state since it was listed, and
 * forgets that. */
static bool take_cleared(const struct vcpu *vcpu, uint32_t number)
{
    uint32_t bit = UINT32_C(1) << number % 32;

    return (__atomic_fetch_or(listable_word(vcpu, number), bit, __ATOMIC_ACQ_REL) & bit) == 0;
}

static bool is_guests(const struct vcpu *vcpu, uint32_t number)
{
    return number < GIC_PRIVATE_COUNT ? (PRIVATE_GUEST >> number & 1) != 0
                                      : partition_owns_interrupt(vcpu->partition, number);
}

/* Returns true if the interrupt is for this VCPU of its partition, too. */
static bool is_vcpus(const struct vcpu *vcpu, uint32_t number)
{
    return is_guests(vcpu, number) && (number < GIC_PRIVATE_COUNT || route_is_to(vcpu, number));
}

/* Signals only interrupts that are more urgent than `priority`. On a shared core all are signalled.
 */
static void set_mask(const struct vcpu *vcpu, uint32_t priority)
{
    if (vcpu_shares_core(vcpu)) {
        priority = PRIORITY_MASK_OPEN;
    }
    gic_registers_mask(vcpu->list.is_raw ? 0x80 | priority >> 1 : priority);
}

static unsigned find(uint32_t number)
{
    unsigned count = gic_registers_list_count();

    for (unsigned i = 0; i < count; i++) {
        uint64_t value = gic_registers_listed(i);

        if ((value & LIST_STATE) != 0 && list_register_number(value) == number) {
            return i;
        }
    }
    return NO_LIST_REGISTER;
}

static void write_list(struct vcpu *vcpu, unsigned index, uint64_t value)
{
    vcpu->list.numbers[index] = (uint16_t)list_register_number(value);
    gic_registers_list(index, value);
}

/*
 * While interrupts wait for a list register, and while active ones have none, the guest's use of
 * list registers is watched. With EOImode 0 a guest frees the list registers when it ends its
 * interrupts, and ends the most urgent first. With EOImode 1 it may have more than that, which only
 * have to be deactivated, in any order.
 */
static void watch_lists(const struct vcpu *vcpu, bool waiting)
{
    bool splits = gic_registers_guest_splits_end(), evicted = vcpu->list.evicted_count != 0;
    uint64_t control = LIST_CONTROL_ENABLE;

    if (waiting || (evicted && !splits)) {
        control |= LIST_CONTROL_UNDERFLOW;
    }
    if (waiting && splits) {
        control |= LIST_CONTROL_NONE_PENDING;
    }
    if (evicted && !splits) {
        control |= LIST_CONTROL_ABSENT;
    }
    if (evicted || (waiting && splits)) {
        control |= LIST_CONTROL_TRAP_DIR;
    }
    gic_registers_control_lists(control);
}

/* The use of the list registers. Indices are NO_LIST_REGISTER if there is no such interrupt. A
 * greater priority value is less urgent. */
struct usage {
    unsigned used;
    unsigned least_pending, least_active;       /* indices of the least urgent */
    uint32_t pending_priority, active_priority; /* of these */
    unsigned active;                            /* number of active ones */
};

static struct usage read_usage(void)
{
    struct usage usage = {.least_pending = NO_LIST_REGISTER, .least_active = NO_LIST_REGISTER};
    unsigned count = gic_registers_list_count();

    for (unsigned i = 0; i < count; i++) {
        uint64_t value = gic_registers_listed(i);
        uint32_t priority = list_register_priority(value);

        usage.used += (value & LIST_STATE) != 0;
        if ((value & LIST_ACTIVE) != 0) {
            usage.active++;
            if (usage.least_active == NO_LIST_REGISTER || priority > usage.active_priority) {
                usage.least_active = i;
                usage.active_priority = priority;
            }
        } else if ((value & LIST_PENDING) != 0 &&
                   (usage.least_pending == NO_LIST_REGISTER || priority > usage.pending_priority)) {
            usage.least_pending = i;
            usage.pending_priority = priority;
        }
    }
    return usage;
}

/* Takes an active interrupt out of its list register. Its end then counts in EOIcount, or its write
 * to ICC_DIR_EL1 traps. The next one that is evicted is more urgent. */
static void evict(struct vcpu *vcpu, unsigned index)
{
    struct interrupt_list *list = &vcpu->list;
    uint64_t value = gic_registers_listed(index);
    uint32_t pending = (value & LIST_PENDING) != 0 ? EVICTED_PENDING : 0;

    gic_registers_list(index, 0);
    list->evicted[list->evicted_count++] = (uint16_t)(list_register_number(value) | pending);
}

/* Returns a list register for an interrupt of this priority when all are used, or NO_LIST_REGISTER
 * if the interrupt has to wait: for those that are pending with at least its urgency, or for the
 * one that the guest handles. */
static unsigned make_room(struct vcpu *vcpu, uint32_t priority)
{
    struct usage usage = read_usage();

    if (usage.active != 0 && gic_registers_guest_splits_end()) {
        evict(vcpu, usage.least_active);
        return usage.least_active;
    }
    if (usage.least_pending != NO_LIST_REGISTER) {
        if (usage.pending_priority <= priority) {
            return NO_LIST_REGISTER;
        }
        let_wait(vcpu, list_register_number(gic_registers_listed(usage.least_pending)));
        return usage.least_pending;
    }
    if (gic_registers_guest_running_priority() <= priority) {
        return NO_LIST_REGISTER;
    }
    evict(vcpu, usage.least_active);
    return usage.least_active;
}

/* Takes active interrupts out of their list registers as long as more than `kept` are used, and not
 * the one that the guest handles. */
static void evict_down_to(struct vcpu *vcpu, unsigned kept)
{
    for (struct usage usage = read_usage(); usage.active > 1 && usage.used > kept;
         usage = read_usage()) {
        evict(vcpu, usage.least_active);
    }
}

/*
 * Lets only those interrupts be signalled that would get a list register. The others wait for the
 * underflow interrupt, when at most one list register is used. So that this happens as soon as one
 * of them is the most urgent, the list registers keep, besides the pending interrupts, only the
 * active one that the guest handles, and without pending ones also the active one that this one
 * interrupted. With EOImode 1 they wait until no list register is pending.
 */
static void close_lists(struct vcpu *vcpu)
{
    struct usage usage = read_usage();
    uint32_t running = gic_registers_guest_running_priority();

    if (usage.least_pending != NO_LIST_REGISTER) {
        running = usage.pending_priority;
    }
    set_mask(vcpu, running < PRIORITY_MASK_OPEN ? running : PRIORITY_MASK_OPEN);
    if (!gic_registers_guest_splits_end()) {
        evict_down_to(vcpu, LIST_REGISTERS_MIN);
    }
    watch_lists(vcpu, true);
}

/* Returns true if an interrupt that was set aside may be more urgent than `priority`: they are
 * known to be less urgent only than those that are pending. The GIC can signal them in their order.
 */
static bool may_be_passed(const struct vcpu *vcpu, uint32_t priority)
{
    struct usage usage;

    if (!vcpu->list.has_aside) {
        return false;
    }
    usage = read_usage();
    return usage.least_pending == NO_LIST_REGISTER || usage.pending_priority <= priority;
}

static void list_with_effort(struct vcpu *vcpu, uint32_t number, uint32_t priority)
{
    uint32_t free = gic_registers_free_lists();
    unsigned index = free != 0 ? (unsigned)__builtin_ctz(free) : make_room(vcpu, priority);

    if (number < GIC_SGI_COUNT) {
        gic_registers_deactivate(number);
    }
    if (index != NO_LIST_REGISTER && may_be_passed(vcpu, priority)) {
        listed_set_aside(vcpu, number);
        listed_bring_back(vcpu);
        return;
    }
    if (index != NO_LIST_REGISTER) {
        write_list(vcpu, index, list_register(number, priority, LIST_PENDING));
    } else {
        let_wait(vcpu, number);
    }
    if (free == 0) {
        close_lists(vcpu);
    }
}

/* Handles an interrupt that is signalled again while a list register has it. For an SGI that is
 * usual. A PPI or SPI was deactivated by a write to the GIC, so the list register's state is an old
 * one. */
static void list_again(unsigned index, uint32_t number)
{
    uint64_t value = gic_registers_listed(index);

    if (number < GIC_SGI_COUNT) {
        gic_registers_deactivate(number);
        gic_registers_list(index, value | LIST_PENDING);
    } else {
        gic_registers_list(index, (value & ~LIST_STATE) | LIST_PENDING);
    }
}

/* Returns the index of an evicted interrupt, or evicted_count. */
static uint32_t find_evicted(const struct interrupt_list *list, uint32_t number)
{
    uint32_t i = 0;

    while (i < list->evicted_count && (list->evicted[i] & EVICTED_NUMBER) != number) {
        i++;
    }
    return i;
}

/* Handles an interrupt that is signalled again while it is evicted. For an SGI that is usual. A PPI
 * or SPI is active in the GIC again, as it is for the guest: then only an edge has to be kept. So
 * an interrupt is evicted once at most. */
static void evicted_again(struct vcpu *vcpu, uint32_t index)
{
    struct interrupt_list *list = &vcpu->list;
    uint32_t number = list->evicted[index] & EVICTED_NUMBER;

    if (number < GIC_SGI_COUNT) {
        gic_registers_deactivate(number);
        list->evicted[index] |= EVICTED_PENDING;
    } else if (is_edge_triggered(vcpu, number)) {
        set_gic_bit(vcpu, number, GIC_ISPENDR);
    }
}

bool listed_resolve(struct vcpu *vcpu)
{
    struct interrupt_list *list = &vcpu->list;
    uint32_t number = list->number, evicted;
    unsigned index;

    if (!is_vcpus(vcpu, number)) {
        return false;
    }
    vcpu->report.exits[EXIT_LISTED]++;
    index = find(number);
    evicted = find_evicted(list, number);
    (void)take_cleared(vcpu, number);
    if (index != NO_LIST_REGISTER) {
        list_again(index, number);
    } else if (evicted != list->evicted_count) {
        evicted_again(vcpu, evicted);
    } else {
        list_with_effort(vcpu, number, list->priority);
    }
    return true;
}

/* Ends the active state of an evicted interrupt. */
static void deactivate_evicted(struct vcpu *vcpu, uint32_t index)
{
    struct interrupt_list *list = &vcpu->list;
    uint32_t number = list->evicted[index] & EVICTED_NUMBER;

    deactivate(vcpu, number);
    if ((list->evicted[index] & EVICTED_PENDING) != 0) {
        listed_return(vcpu, number);
    }
    for (list->evicted_count--; index < list->evicted_count; index++) {
        list->evicted[index] = list->evicted[index + 1];
    }
}

/* Gives the most urgent of the evicted interrupts list registers again, as many as keep the
 * underflow interrupt from being asserted. */
static void readmit(struct vcpu *vcpu)
{
    struct interrupt_list *list = &vcpu->list;
    unsigned used = read_usage().used;
    uint32_t free = gic_registers_free_lists(); /* once: writes may show there later */

    for (; used < LIST_REGISTERS_MIN && list->evicted_count != 0; used++) {
        uint32_t evicted = list->evicted[--list->evicted_count], number = evicted & EVICTED_NUMBER;
        uint64_t state = (evicted & EVICTED_PENDING) != 0 ? LIST_STATE : LIST_ACTIVE;
        uint32_t priority =
            device_read8(frame_of(vcpu, number).interrupts + GIC_IPRIORITYR + number);

        write_list(vcpu, (unsigned)__builtin_ctz(free), list_register(number, priority, state));
        free &= free - 1;
    }
}

/* All interrupts may be signalled. Those for which there is no list register wait again. */
static void open_lists(struct vcpu *vcpu)
{
    set_mask(vcpu, PRIORITY_MASK_OPEN);
    watch_lists(vcpu, false);
    listed_bring_back(vcpu);
}

void listed_underflow(struct vcpu *vcpu)
{
    const struct interrupt_list *list = &vcpu->list;

    /* The guest ends interrupts in the order of their urgency, so the last one evicted first. */
    for (uint32_t ends = gic_registers_absent_ends(); ends != 0 && list->evicted_count != 0;
         ends--) {
        deactivate_evicted(vcpu, list->evicted_count - 1);
    }
    if (!gic_registers_guest_splits_end()) {
        readmit(vcpu);
    }
    open_lists(vcpu);
}

void listed_deactivate(struct vcpu *vcpu, uint64_t value)
{
    uint32_t number = (uint32_t)value & 0xffffff;
    uint32_t evicted = find_evicted(&vcpu->list, number);
    unsigned index = find(number);

    if (number > GIC_SPI_LAST || !is_guests(vcpu, number)) {
        return;
    }
    if (evicted != vcpu->list.evicted_count) {
        deactivate_evicted(vcpu, evicted);
    } else if (index == NO_LIST_REGISTER) {
        deactivate(vcpu, number);
    } else if ((gic_registers_listed(index) & LIST_ACTIVE) != 0) {
        gic_registers_list(index, gic_registers_listed(index) & ~LIST_ACTIVE);
        deactivate(vcpu, number);
    }
    /* An SGI that is pending again may be less urgent than an interrupt that waits. */
    open_lists(vcpu);
}

/* Returns the value that a list register should have, after writes to the GIC. */
static uint64_t revised(struct vcpu *vcpu, uint64_t value, uint32_t deactivated)
{
    uint32_t number = list_register_number(value);
    bool is_sgi = number < GIC_SGI_COUNT;
    bool is_void =
        is_sgi ? (deactivated >> number & 1) != 0 : !gic_bit(vcpu, number, GIC_ISACTIVER);
    bool is_cleared = take_cleared(vcpu, number);

    if ((value & LIST_ACTIVE) != 0 && is_void) {
        value &= ~LIST_ACTIVE;
    }
    if ((value & LIST_PENDING) == 0) {
        return value;
    }
    if (is_cleared) {
        if ((value & LIST_ACTIVE) == 0) {
            deactivate(vcpu, number);
        }
        return value & ~LIST_PENDING;
    }
    if ((!is_sgi && is_void) || !gic_bit(vcpu, number, GIC_ISENABLER) ||
        (number >= GIC_PRIVATE_COUNT && !route_is_to(vcpu, number))) {
        listed_return(vcpu, number);
        return value & ~LIST_PENDING;
    }
    return value;
}

static void revise_evicted(struct vcpu *vcpu, uint32_t deactivated)
{
    struct interrupt_list *list = &vcpu->list;

    for (uint32_t i = list->evicted_count; i-- != 0;) {
        uint32_t number = list->evicted[i] & EVICTED_NUMBER;

        if (take_cleared(vcpu, number)) {
            list->evicted[i] = (uint16_t)number;
        }
        if (number < GIC_SGI_COUNT ? (deactivated >> number & 1) != 0
                                   : !gic_bit(vcpu, number, GIC_ISACTIVER)) {
            deactivate_evicted(vcpu, i);
        }
    }
}

/* What was set aside comes again, except what was cleared. */
static void revise_aside(struct vcpu *vcpu)
{
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        for (uint32_t left = vcpu->list.aside[word]; left != 0; left &= left - 1) {
            uint32_t number = word * 32 + (uint32_t)__builtin_ctz(left);

            if (take_cleared(vcpu, number)) {
                vcpu->list.aside[word] &= ~(left & -left);
                deactivate(vcpu, number);
            }
        }
    }
    listed_bring_back(vcpu);
}

void listed_revise(struct vcpu *vcpu)
{
    struct list_changes *changes = &vcpu->partition->atomic.changes;
    uint32_t bit = UINT32_C(1) << vcpu->number, deactivated;
    unsigned count;

    if ((__atomic_load_n(&changes->vcpus, __ATOMIC_ACQUIRE) & bit) == 0) {
        return;
    }
    /* What is changed from here on is revised again. */
    (void)__atomic_fetch_and(&changes->vcpus, ~bit, __ATOMIC_ACQ_REL);
    deactivated =
        __atomic_exchange_n(&changes->private_deactivated[vcpu->number], 0, __ATOMIC_ACQ_REL);
    revise_evicted(vcpu, deactivated);
    revise_aside(vcpu);
    count = gic_registers_list_count();
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = gic_registers_listed(i);

        if ((value & LIST_STATE) != 0) {
            gic_registers_list(i, revised(vcpu, value, deactivated));
        }
    }
}

/* Not inline, because several rare paths call it. */
__attribute__((noinline)) bool listed_is_pending(const struct vcpu *vcpu)
{
    gic_registers_settle_lists();
    return (~gic_registers_free_lists() & vcpu->list.registers) != 0 &&
           read_usage().least_pending != NO_LIST_REGISTER;
}

const char *listed_start(struct vcpu *vcpu)
{
    if (gic_registers_list_count() < LIST_REGISTERS_MIN) {
        return "listed interrupts need two list registers, not in core";
    }
    gic_registers_split_ends();
    vcpu->list.registers = (UINT32_C(1) << gic_registers_list_count()) - 1;
    vcpu->list.is_raw =
        vcpu->partition->constant.shares_group1 && gic_registers_mask_has_lowest_priority();
    return NULL;
}

void listed_reset(struct vcpu *vcpu)
{
    unsigned count = gic_registers_list_count();

    set_mask(vcpu, PRIORITY_MASK_OWN);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = gic_registers_listed(i);
        uint32_t number = list_register_number(value);

        /* Not one whose active state the reset of the partition has cleared. */
        if ((value & LIST_STATE) == LIST_PENDING && number >= GIC_PRIVATE_COUNT &&
            is_guests(vcpu, number) && gic_bit(vcpu, number, GIC_ISACTIVER)) {
            listed_return(vcpu, number);
        }
        gic_registers_list(i, 0);
    }
    gic_registers_reset_virtual();
    gic_registers_enable_group1();
    vcpu->list.evicted_count = 0;
    vcpu->list.aside[0] = 0; /* SGIs and PPIs are not pending either */
    listed_bring_back(vcpu);
    watch_lists(vcpu, false);
}

void listed_reset_partition(struct partition *partition)
{
    struct list_changes *changes = &partition->atomic.changes;

    changes->vcpus = 0;
    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        changes->listable[word] = partition->constant.described->interrupts[word];
    }
    for (uint32_t vcpu = 0; vcpu < DESCRIPTION_VCPUS_MAX; vcpu++) {
        changes->private_listable[vcpu] = PRIVATE_GUEST;
        changes->private_deactivated[vcpu] = 0;
    }
}
