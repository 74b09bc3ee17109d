/* SPDX-License-Identifier: BSD-2-Clause */
#include "watchdog/watchdog.h"

#include "entry/frame.h"
#include "entry/watch.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "health/state.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "scheduler/scheduler.h"
#include "vcpu/same_core.h"
#include <arch/heartbeat.h>
#include <devices/watchdog_registers.h>
#include <string.h>

#define MICROSECONDS    1000000u
#define WATCHDOG_FRAMES UINT64_C(2) /* control, then refresh */

/* The watchdog after an update. */
struct outcome {
    enum access_result result;
    uint32_t signals; /* those that it has asserted: WCS_SIGNAL0, WCS_SIGNAL1 */
    uint64_t due;     /* time of the next signal, or UINT64_MAX */
    bool is_earlier;  /* the boot VCPU's monitor has promised to look later than that */
};

static const struct description_health *described(const struct partition *partition)
{
    return &partition->constant.described->health;
}

static struct partition_watchdog *watchdog_of(const struct partition *partition)
{
    return &health_of(partition)->watchdog;
}

/* Returns the page that the guest writes, which follows that of the partition's health. */
static struct heartbeat_page *page_of(const struct partition *partition)
{
    return (struct heartbeat_page *)((uintptr_t)health_of(partition) + DESCRIPTION_PAGE_BYTES);
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static bool executes(const struct vcpu *vcpu)
{
    const struct vcpu_power *power = &vcpu->partition->atomic.power[vcpu->number];

    return __atomic_load_n(&power->state, __ATOMIC_ACQUIRE) == VCPU_ON;
}

/* Returns the guest's program counter, which its last exit saved at the top of its monitor's stack;
 * 0 if the VCPU is off. */
static uint64_t program_counter(const struct vcpu *vcpu)
{
    return executes(vcpu) ? ((const struct registers *)(uintptr_t)vcpu->stack - 1)->pc : 0;
}

static uint64_t ticks_of(uint64_t microseconds)
{
    return microseconds * register_read(cntfrq_el0) / MICROSECONDS;
}

/* Returns the limits of the VCPU's heartbeat. Only the boot VCPU's guest starts with the
 * partition. */
static struct heartbeat_limits limits_of(const struct vcpu *vcpu)
{
    const struct description_health *health = described(vcpu->partition);

    return (struct heartbeat_limits){
        .period = ticks_of(health->heartbeat_period),
        .start = vcpu->number == 0 ? ticks_of(health->heartbeat_start) : 0,
    };
}

/* Handles signals that the watchdog has asserted. */
static void handle_signals(struct vcpu *vcpu, uint32_t signals)
{
    const struct partition *partition = vcpu->partition;

    if ((signals & WCS_SIGNAL0) != 0) {
        gic_make_pending(partition->constant.system, described(partition)->watchdog_interrupt);
    }
    if ((signals & WCS_SIGNAL1) != 0) {
        fault_of_watchdog(vcpu, program_counter(vcpu));
    }
}

/* Sets the time of the VCPU's next look, and its processor's timer. A shared core keeps an earlier
 * time, at which the look finds nothing: a choice for each refresh would cost more. */
static void set_due(struct vcpu *vcpu, uint64_t due)
{
    if (vcpu_shares_core(vcpu) && due >= vcpu->watchdog_due) {
        return;
    }
    vcpu->watchdog_due = due;
    watch_set_timer(processor_this());
}

static enum access_result access_frame(struct generic_watchdog *device, uint64_t now,
                                       struct access *access)
{
    if (access->offset < WATCHDOG_FRAME_BYTES) {
        return generic_watchdog_access_control(device, now, access);
    }
    access->offset -= WATCHDOG_FRAME_BYTES;
    return generic_watchdog_access_refresh(device, now, access);
}

/* Returns the time of the next look at the VCPU's heartbeat, or UINT64_MAX. */
static uint64_t heartbeat_due(const struct vcpu *vcpu)
{
    uint64_t next = watchdog_of(vcpu->partition)->heartbeats[vcpu->number].next;

    return next != 0 ? next : UINT64_MAX;
}

/* Lets the time until now pass for the watchdog, and carries out an access unless `access` is NULL.
 * The time of its next signal is promised if the boot VCPU's monitor calls, or if it is earlier. */
static struct outcome update(const struct vcpu *vcpu, struct access *access)
{
    struct partition_watchdog *watchdog = watchdog_of(vcpu->partition);
    struct outcome outcome = {.result = ACCESS_DONE};
    uint64_t now;

    ticket_lock_take(&watchdog->lock, TICKET_LOCK_PATIENCE);
    now = register_read(cntpct_el0);
    outcome.signals = generic_watchdog_advance(&watchdog->device, now);
    if (access != NULL) {
        outcome.result = access_frame(&watchdog->device, now, access);
    }
    outcome.due = generic_watchdog_due(&watchdog->device);
    outcome.is_earlier = outcome.due < watchdog->promised;
    if (outcome.is_earlier || vcpu->number == 0) {
        watchdog->promised = outcome.due;
    }
    ticket_lock_give(&watchdog->lock);
    return outcome;
}

bool watchdog_access(struct vcpu *vcpu, uint64_t address, struct access *access,
                     enum access_result *result)
{
    struct partition *partition = vcpu->partition;
    uint64_t start = described(partition)->watchdog;
    struct outcome outcome;

    if (start == 0 || address - start >= WATCHDOG_FRAMES * WATCHDOG_FRAME_BYTES) {
        return false;
    }
    access->offset = address - start;
    outcome = update(vcpu, access);
    *result = outcome.result;
    if (vcpu->number == 0) {
        set_due(vcpu, smaller(outcome.due, heartbeat_due(vcpu)));
    } else if (outcome.is_earlier) {
        gic_send(partition, 0);
    }
    handle_signals(vcpu, outcome.signals);
    return true;
}

/* Looks at the heartbeat of a VCPU that executes. */
static void look_at_heartbeat(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct heartbeat_count *count = &page_of(partition)->vcpus[vcpu->number];
    const struct heartbeat_limits limits = limits_of(vcpu);
    uint64_t beats = __atomic_load_n(&count->beats, __ATOMIC_RELAXED);

    if (heartbeat_look(&watchdog_of(partition)->heartbeats[vcpu->number], &limits, beats,
                       register_read(cntpct_el0))) {
        fault_of_heartbeat(vcpu, program_counter(vcpu), beats);
    }
}

void watchdog_look(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    const struct description_health *health = described(partition);
    uint64_t due = UINT64_MAX;

    vcpu->watchdog_due = UINT64_MAX;
    if (__atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE) != REQUEST_NONE) {
        return;
    }
    if (health->watchdog != 0 && vcpu->number == 0) {
        struct outcome outcome = update(vcpu, NULL);

        due = outcome.due;
        handle_signals(vcpu, outcome.signals);
    }
    if (health->heartbeat != 0 && executes(vcpu)) {
        look_at_heartbeat(vcpu);
        due = smaller(due, heartbeat_due(vcpu));
    }
    if (due != UINT64_MAX) {
        set_due(vcpu, due);
    }
}

void watchdog_call_due(struct processor *processor)
{
    uint64_t now = register_read(cntpct_el0);

    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        if (vcpu->watchdog_due > now) {
            continue;
        }
        vcpu->watchdog_due = UINT64_MAX;
        if (vcpu_shares_core(vcpu)) {
            scheduler_call(vcpu);
        } else {
            watchdog_look(vcpu);
        }
        return;
    }
}

uint64_t watchdog_due(const struct processor *processor)
{
    uint64_t due = UINT64_MAX;

    for (const struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        due = smaller(due, vcpu->watchdog_due);
    }
    return due;
}

void watchdog_reset(struct partition *partition)
{
    const struct description_health *health = described(partition);
    struct partition_watchdog *watchdog = watchdog_of(partition);

    if (health->is_monitored == 0) {
        return;
    }
    watchdog->device = (struct generic_watchdog){.offset = 0};
    watchdog->promised = UINT64_MAX;
    if (health->heartbeat != 0) {
        memset(watchdog->heartbeats, 0, sizeof(watchdog->heartbeats));
        memset(page_of(partition), 0, DESCRIPTION_PAGE_BYTES);
    }
}

void watchdog_start_guest(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct heartbeat_limits limits = limits_of(vcpu);

    if (described(partition)->heartbeat != 0) {
        heartbeat_begin(&watchdog_of(partition)->heartbeats[vcpu->number], &limits,
                        page_of(partition)->vcpus[vcpu->number].beats, register_read(cntpct_el0));
        set_due(vcpu, smaller(vcpu->watchdog_due, heartbeat_due(vcpu)));
    }
}
