/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/refused_dma.h"

#include "console/terminal.h"
#include "gic/setup.h"
#include "hypervisor/description.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "partition/ownership.h"
#include "partition/recall.h"
#include "pci/address.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"

/* Most events that one interrupt of the SMMU removes from the queue, so that no exit takes long. */
#define EVENTS_AT_ONCE 4u

/*
 * By partition: the first refused DMA since its DMA was blocked last. Any monitor that has changed
 * `state` from REFUSED_NONE to REFUSED_WRITING, by compare and exchange, writes `event`. The
 * partition's own monitor changes it to REFUSED_TAKEN, and to REFUSED_NONE once its DMA is blocked.
 * Later events of a partition that is not at REFUSED_NONE are dropped.
 */
enum refused_state { REFUSED_NONE, REFUSED_WRITING, REFUSED_WAITING, REFUSED_TAKEN };

static struct refused {
    uint32_t state;
    struct smmu_event event;
} refused[DESCRIPTION_PARTITIONS_MAX] __attribute__((section(".bss.monitor_shared")));

/* Leaves the event for the monitor of its partition, unless an earlier one is there. The SMMU's
 * interrupt goes to the core of that partition from now on, unless the system has a core that no
 * guest can shut. Returns false if the event is dropped. */
static bool leave_event(const struct vcpu *vcpu, const struct smmu_event *event)
{
    const struct description *system = vcpu->partition->constant.system;
    struct refused *place = &refused[event->partition];
    uint32_t before = REFUSED_NONE;

    if (description_first_listed(system) == DESCRIPTION_NO_PARTITION) {
        gic_route(system, system->board.smmu_interrupt,
                  description_boot_core(&system->partitions[event->partition]));
    }
    if (!__atomic_compare_exchange_n(&place->state, &before, REFUSED_WRITING, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return false;
    }
    place->event = *event;
    __atomic_store_n(&place->state, REFUSED_WAITING, __ATOMIC_RELEASE);
    /* On a core of its own, a boot VCPU takes its messages after the interrupt. On a shared core it
     * takes them when it is called. */
    if (event->partition != vcpu->partition->constant.index || vcpu->number != 0 ||
        vcpu->shared != NULL) {
        recall(vcpu, event->partition);
    }
    return true;
}

enum event_outcome { EVENT_NONE, EVENT_DROPPED, EVENT_LEFT };

/* Removes the oldest event from the queue, sets *partition to its partition or
 * DESCRIPTION_NO_PARTITION, and leaves it for that partition's monitor. */
static enum event_outcome forward_event(const struct vcpu *vcpu, uint32_t *partition)
{
    struct smmu_event event = {.partition = DESCRIPTION_NO_PARTITION};
    uint32_t moves = ownership_moves();
    bool has_event = smmu_event(vcpu->partition, &event);

    if (has_event) {
        event.partition = ownership_culprit(vcpu->partition->constant.system, &event, moves);
    }
    *partition = event.partition;
    if (!has_event) {
        return EVENT_NONE;
    }
    return event.partition != DESCRIPTION_NO_PARTITION && leave_event(vcpu, &event) ? EVENT_LEFT
                                                                                    : EVENT_DROPPED;
}

uint32_t refused_dma_forward(const struct vcpu *vcpu)
{
    enum event_outcome outcome;
    uint32_t partition;

    smmu_pause_events(vcpu->partition, register_read(cntpct_el0));
    outcome = forward_event(vcpu, &partition);
    if (outcome == EVENT_NONE) { /* another monitor has taken it */
        smmu_resume_events(vcpu->partition);
    }
    for (unsigned i = 1; i < EVENTS_AT_ONCE && outcome == EVENT_DROPPED; i++) {
        outcome = forward_event(vcpu, &partition);
    }
    return partition;
}

void refused_dma_watch(const struct vcpu *vcpu)
{
    uint64_t since = smmu_paused_since();

    /* The counter may have been read before another core began the pause. */
    if (since != 0 && register_read(cntpct_el0) >= since + register_read(cntfrq_el0)) {
        smmu_resume_events(vcpu->partition);
    }
}

/* Ends the time during which later events of the VCPU's partition are dropped: its DMA is blocked.
 */
static void end_refusal(const struct vcpu *vcpu)
{
    struct refused *place = &refused[vcpu->partition->constant.index];

    if (__atomic_exchange_n(&place->state, REFUSED_NONE, __ATOMIC_ACQ_REL) != REFUSED_NONE) {
        smmu_resume_events(vcpu->partition);
    }
}

enum step_outcome refused_dma_discard(const struct vcpu *vcpu, uint32_t *event)
{
    uint32_t partition;

    /* Devices of others may cause events all the time. So no more than the queue's are taken. */
    if ((*event)++ < EVENTS && forward_event(vcpu, &partition) != EVENT_NONE) {
        return STEP_PENDING;
    }
    end_refusal(vcpu);
    return STEP_DONE;
}

enum step_outcome refused_dma_drain(const struct vcpu *vcpu, uint32_t *event)
{
    uint32_t partition;

    for (unsigned i = 0; i < EVENTS_AT_ONCE; i++) {
        if ((*event)++ >= EVENTS || forward_event(vcpu, &partition) == EVENT_NONE) {
            return STEP_DONE;
        }
    }
    return STEP_PENDING;
}

/* Returns true if the partition will call refused_dma_discard() once its DMA is blocked. A
 * partition that has failed does so when its stop is repeated: until then its devices may cause
 * events. */
static bool will_block_dma(const struct partition *partition)
{
    return __atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) != REQUEST_STOPPED &&
           partition->boot_vcpu.transition.phase <= TRANSITION_EVENTS;
}

/* The partition goes on after refused DMA, which is not blocked. The SMMU's interrupt stays
 * disabled until a second is over, however many events the partition's devices cause: the next one
 * of these is handled then. Those that wait before it are dropped, because events of others are
 * behind them.
 */
static void go_on(const struct vcpu *vcpu, struct refused *place)
{
    enum event_outcome outcome = EVENT_DROPPED;
    uint32_t partition;

    for (unsigned i = 0; i < EVENTS_AT_ONCE && outcome == EVENT_DROPPED; i++) {
        outcome = forward_event(vcpu, &partition);
    }
    __atomic_store_n(&place->state, REFUSED_NONE, __ATOMIC_RELEASE);
}

void refused_dma_take(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct refused *place = &refused[partition->constant.index];

    if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) != REFUSED_WAITING) {
        return;
    }
    if (!will_block_dma(partition)) { /* an event of the time before */
        end_refusal(vcpu);
        return;
    }
    __atomic_store_n(&place->state, REFUSED_TAKEN, __ATOMIC_RELAXED);
    if (__atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) == REQUEST_NONE &&
        !fault_of_dma(vcpu, &place->event)) {
        go_on(vcpu, place);
    }
}

void refused_dma_print(const struct vcpu *vcpu)
{
    const struct smmu_event *event = &refused[vcpu->partition->constant.index].event;

    terminal_add_fault(vcpu->partition,
                       "is stopped: device " PCI_ADDRESS_FORMAT ", DMA %s at 0x%lx, event 0x%x",
                       PCI_ADDRESS_DIGITS(event->stream), event->read ? "read" : "write",
                       event->address, event->type);
}
