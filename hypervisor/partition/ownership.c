/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/ownership.h"

#include "console/terminal.h"
#include "gic/moved.h"
#include "hypervisor/registers.h"
#include "partition/ownership_state.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "pci/address.h"
#include "pci/config_space.h"
#include <arch/hypercalls.h>
#include <stddef.h>

#define SMMU_LIMIT_US 1000000u

struct ownerships ownerships __attribute__((section(".bss.monitor_shared")));

static const struct description_movable *movable_at(const struct partition *partition,
                                                    uint32_t index)
{
    uint32_t number = partition->constant.described->functions[index].movable;

    return number != 0 ? &partition->constant.system->movables[number - 1] : NULL;
}

static uint32_t number_of(const struct description *system,
                          const struct description_movable *movable)
{
    return (uint32_t)(movable - system->movables);
}

/* Acquires what the holder before has done to the function. */
static struct holding read_holding(const struct description *system,
                                   const struct description_movable *movable)
{
    return holding_of(
        __atomic_load_n(&ownerships.words[number_of(system, movable)], __ATOMIC_ACQUIRE));
}

/* Changes the state of a function if it is still `before`. Releases what this monitor has done to
 * it. Returns false if another monitor has changed it. */
static bool change(const struct description *system, const struct description_movable *movable,
                   struct holding before, struct holding after)
{
    uint32_t word = holding_word(before);

    return __atomic_compare_exchange_n(&ownerships.words[number_of(system, movable)], &word,
                                       holding_word(after), false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static struct departure *departure_of(const struct partition *partition)
{
    return &ownerships.departures[partition->constant.index];
}

/* Returns the word of the partition's SPIs that has the function's. */
static uint32_t *interrupt_word(const struct partition *partition,
                                const struct description_movable *movable)
{
    return &ownerships.interrupts[partition->constant.index][movable->interrupt / 32];
}

static uint64_t time_after(uint64_t microseconds)
{
    return register_read(cntpct_el0) + register_read(cntfrq_el0) * microseconds / 1000000;
}

static bool is_executing(const struct partition *partition)
{
    return partition->boot_vcpu.transition.phase == TRANSITION_NONE;
}

/* Takes a step of a change of the function's stream table entry, unless another function's is being
 * changed. */
static enum step_outcome permit_dma(struct partition *partition, uint32_t index)
{
    uint32_t *changing = &ownerships.changing[partition->constant.index];
    enum step_outcome outcome;

    if (*changing != 0 && *changing != index + 1) {
        return STEP_PENDING;
    }
    if (*changing == 0) {
        smmu_set_stage2(partition, partition->constant.described->functions[index].address,
                        ownerships.stage2[partition->constant.index]);
    }
    outcome = smmu_permit_functions(partition, UINT32_C(1) << index,
                                    &partition->boot_vcpu.transition.change);
    *changing = outcome == STEP_PENDING ? index + 1 : 0;
    return outcome;
}

bool ownership_arrive(struct partition *partition, uint32_t index)
{
    const struct description *system = partition->constant.system;
    const struct description_movable *movable = movable_at(partition, index);
    struct virtual_function *view = &partition->functions.views[index];
    uint8_t own = (uint8_t)partition->constant.index;
    struct holding holding;

    if (movable == NULL) {
        return true;
    }
    holding = read_holding(system, movable);
    if (holding.state != OWNERSHIP_ARRIVING || holding.holder != own) {
        return false;
    }
    view->foreign = false; /* a stop blocks its DMA from now on */
    if (permit_dma(partition, index) != STEP_DONE ||
        !gic_take_interrupt(partition, movable->interrupt)) {
        return false;
    }
    *interrupt_word(partition, movable) |= UINT32_C(1) << movable->interrupt % 32;
    view->hidden = false;
    /* If the manager has given it away meanwhile, it departs. */
    (void)change(system, movable, holding, (struct holding){OWNERSHIP_OWNED, own, own});
    return true;
}

/* Ends the holding of the partition: DMA of the function is blocked, and it is reset. `goal`: the
 * partition that gets it, unless the manager has named another one. */
static void publish(struct vcpu *vcpu, uint32_t index, uint8_t goal)
{
    struct partition *partition = vcpu->partition;
    const struct description *system = partition->constant.system;
    const struct description_movable *movable = movable_at(partition, index);
    uint32_t number = number_of(system, movable);
    struct holding holding;

    partition->functions.views[index].hidden = true;
    partition->functions.views[index].foreign = true;
    *interrupt_word(partition, movable) &= ~(UINT32_C(1) << movable->interrupt % 32);
    gic_lose_interrupt(vcpu, movable->interrupt);
    __atomic_store_n(&ownerships.moves[number], ownerships.moves[number] + 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&ownerships.all_moves, 1, __ATOMIC_RELEASE);
    do {
        holding = read_holding(system, movable);
        goal = holding.state == OWNERSHIP_LEAVING ? holding.goal : goal;
    } while (!change(system, movable, holding, (struct holding){OWNERSHIP_ARRIVING, goal, goal}));
}

/* Returns the index of a function that is to leave the partition, or function_count. */
static uint32_t find_leaving(const struct partition *partition)
{
    const struct description *system = partition->constant.system;
    uint32_t count = partition->constant.described->function_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct description_movable *movable = movable_at(partition, i);
        struct holding holding;

        if (movable == NULL) {
            continue;
        }
        holding = read_holding(system, movable);
        if (holding.state == OWNERSHIP_LEAVING && holding.holder == partition->constant.index) {
            return i;
        }
    }
    return count;
}

static void begin_departure(struct partition *partition, uint32_t index)
{
    *departure_of(partition) =
        (struct departure){.function = index + 1, .limit = time_after(SMMU_LIMIT_US)};
    partition->functions.views[index].hidden = true;
}

/* Blocks the function's DMA, after a change that its arrival has begun. */
static enum step_outcome block_dma(struct partition *partition, uint32_t index)
{
    struct departure *departure = departure_of(partition);
    struct smmu_change *pending = &partition->boot_vcpu.transition.change;
    enum step_outcome outcome = STEP_PENDING;

    if (!departure->blocks) {
        departure->blocks = smmu_settle(partition, pending) == STEP_DONE;
    }
    if (departure->blocks) {
        ownerships.changing[partition->constant.index] = index + 1;
        outcome = smmu_block_functions(partition, UINT32_C(1) << index, pending);
    }
    if (outcome == STEP_PENDING && register_read(cntpct_el0) < departure->limit) {
        return STEP_PENDING;
    }
    if (outcome != STEP_DONE) {
        smmu_end_change(partition, pending);
        outcome = STEP_FAILED;
    }
    ownerships.changing[partition->constant.index] = 0;
    return outcome;
}

/* Says where the function goes. A step of its own, because a line takes as long as other steps. */
static void report_departure(const struct partition *partition, uint32_t index)
{
    const struct description *system = partition->constant.system;
    const struct description_movable *movable = movable_at(partition, index);

    if (departure_of(partition)->has_failed) {
        terminal_print_event(partition,
                             "loses device " PCI_ADDRESS_FORMAT
                             ": it was not reset, and no partition can access it",
                             PCI_ADDRESS_DIGITS(movable->address));
    } else {
        terminal_print_event(partition, "gives device " PCI_ADDRESS_FORMAT " to %s",
                             PCI_ADDRESS_DIGITS(movable->address),
                             system->partitions[read_holding(system, movable).goal].name);
    }
}

static void end_departure(struct vcpu *vcpu, uint32_t index)
{
    struct partition *partition = vcpu->partition;
    const struct description *system = partition->constant.system;
    const struct description_movable *movable = movable_at(partition, index);
    uint8_t own = (uint8_t)partition->constant.index;

    if (departure_of(partition)->has_failed) {
        (void)change(system, movable, read_holding(system, movable),
                     (struct holding){OWNERSHIP_QUARANTINED, own, own});
    } else {
        publish(vcpu, index, own);
    }
    *departure_of(partition) = (struct departure){.function = 0};
}

/* Takes a step of the phase that the departure is in. */
static enum step_outcome run_phase(struct vcpu *vcpu, uint32_t index)
{
    struct partition *partition = vcpu->partition;
    struct departure *departure = departure_of(partition);
    uint32_t microseconds;
    enum step_outcome outcome;

    switch ((enum departure_phase)departure->phase) {
    case DEPARTURE_BLOCK:
        return block_dma(partition, index);
    case DEPARTURE_EVENTS:
        return refused_dma_drain(vcpu, &departure->events);
    case DEPARTURE_RESET:
        outcome = pci_reset_one(partition, index, &departure->reset, &microseconds);
        departure->due = outcome == STEP_PENDING ? time_after(microseconds) : 0;
        return outcome;
    case DEPARTURE_INTERRUPT:
        return gic_release_interrupt(vcpu, movable_at(partition, index)->interrupt);
    case DEPARTURE_REPORT:
        report_departure(partition, index);
        return STEP_DONE;
    default: /* DEPARTURE_END */
        end_departure(vcpu, index);
        return STEP_PENDING;
    }
}

static void continue_departure(struct vcpu *vcpu)
{
    struct departure *departure = departure_of(vcpu->partition);
    uint32_t index = departure->function - 1;
    enum step_outcome outcome;

    if (register_read(cntpct_el0) < departure->due) {
        return;
    }
    outcome = run_phase(vcpu, index);
    if (outcome == STEP_PENDING) {
        return;
    }
    departure->has_failed = departure->has_failed || outcome == STEP_FAILED;
    departure->phase++;
}

void ownership_depart(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    uint32_t index;

    if (!is_executing(partition)) {
        return;
    }
    if (departure_of(partition)->function == 0) {
        index = find_leaving(partition);
        if (index == partition->constant.described->function_count) {
            return;
        }
        begin_departure(partition, index);
    }
    continue_departure(vcpu);
}

bool ownership_can_fail_over(const struct partition *partition)
{
    uint32_t standby = partition->constant.described->standby;

    if (standby == 0 ||
        (__atomic_load_n(&ownerships.executing, __ATOMIC_ACQUIRE) >> (standby - 1) & 1) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < partition->constant.described->function_count; i++) {
        if (movable_at(partition, i) != NULL && !partition->functions.views[i].hidden) {
            return true;
        }
    }
    return false;
}

void ownership_hand_over(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    uint8_t standby = (uint8_t)(partition->constant.described->standby - 1);

    for (uint32_t i = 0; i < partition->constant.described->function_count; i++) {
        const struct description_movable *movable = movable_at(partition, i);

        if (movable != NULL && !partition->functions.views[i].foreign) {
            publish(vcpu, i, standby);
        }
    }
}

void ownership_begin_life(const struct partition *partition)
{
    (void)__atomic_fetch_or(&ownerships.executing, UINT32_C(1) << partition->constant.index,
                            __ATOMIC_RELEASE);
}

void ownership_begin_transition(struct partition *partition)
{
    (void)__atomic_fetch_and(&ownerships.executing, ~(UINT32_C(1) << partition->constant.index),
                             __ATOMIC_RELEASE);
    *departure_of(partition) = (struct departure){.function = 0};
    ownerships.changing[partition->constant.index] = 0;
}

static const struct description_movable *find(const struct description *system, uint64_t address)
{
    for (uint32_t i = 0; i < system->movable_count; i++) {
        if (system->movables[i].address == address) {
            return &system->movables[i];
        }
    }
    return NULL;
}

/* Returns how far the move of a function to a partition is, as CALL_DEVICE_GIVE does. */
static int64_t progress_of(const struct vcpu *caller, struct holding holding, uint32_t to)
{
    switch ((enum ownership)holding.state) {
    case OWNERSHIP_LEAVING:
        /* The holder takes a step each time that it is called, whatever its guest does. */
        recall(caller, holding.holder);
        return holding.goal == to ? MANAGER_AGAIN : MANAGER_BUSY;
    case OWNERSHIP_QUARANTINED:
        return MANAGER_RESET_FAILED;
    default:
        return holding.holder == to ? MANAGER_DONE : MANAGER_BUSY;
    }
}

int64_t ownership_give(const struct vcpu *caller, uint32_t address, uint32_t to, bool begins)
{
    const struct description *system = caller->partition->constant.system;
    const struct description_movable *movable = find(system, address);
    struct holding holding;

    if (movable == NULL || (movable->candidates >> to & 1) == 0) {
        return MANAGER_INVALID;
    }
    holding = read_holding(system, movable);
    if (begins && holding.state != OWNERSHIP_LEAVING &&
        (holding.holder != to || holding.state == OWNERSHIP_QUARANTINED)) {
        struct holding leaving = {OWNERSHIP_LEAVING, holding.holder, (uint8_t)to};

        if (!change(system, movable, holding, leaving)) {
            return MANAGER_BUSY;
        }
        recall(caller, holding.holder);
        return MANAGER_AGAIN;
    }
    return progress_of(caller, holding, to);
}

int64_t ownership_state(const struct vcpu *vcpu, uint64_t registers[4])
{
    const struct partition *partition = vcpu->partition;
    const struct description *system = partition->constant.system;
    const struct description_movable *movable = find(system, registers[1]);
    struct holding holding;
    uint32_t number;
    bool is_owner;

    if (movable == NULL || (movable->candidates >> partition->constant.index & 1) == 0) {
        return CALL_NOT_SUPPORTED;
    }
    number = number_of(system, movable);
    holding = read_holding(system, movable);
    is_owner = holding.state == OWNERSHIP_OWNED && holding.holder == partition->constant.index;
    if (is_owner && (uint32_t)registers[2] == DEVICE_ADOPT) {
        __atomic_store_n(&ownerships.adopted[number], ownerships.moves[number], __ATOMIC_RELAXED);
    }
    registers[1] = holding.state == OWNERSHIP_QUARANTINED ? DEVICE_STATE_LOST
                   : is_owner                             ? DEVICE_STATE_OWNED
                                                          : DEVICE_STATE_ABSENT;
    registers[2] = __atomic_load_n(&ownerships.moves[number], __ATOMIC_RELAXED);
    registers[3] = __atomic_load_n(&ownerships.adopted[number], __ATOMIC_RELAXED);
    return CALL_SUCCESS;
}

uint32_t ownership_moves(void)
{
    return __atomic_load_n(&ownerships.all_moves, __ATOMIC_ACQUIRE);
}

uint32_t ownership_culprit(const struct description *system, const struct smmu_event *event,
                           uint32_t moves)
{
    const struct description_movable *movable = find(system, event->stream);
    struct holding holding;

    if (movable == NULL) {
        return event->partition;
    }
    holding = read_holding(system, movable);
    return ownership_moves() == moves ? holding.holder : DESCRIPTION_NO_PARTITION;
}
