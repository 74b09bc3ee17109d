/* SPDX-License-Identifier: BSD-2-Clause */
/* The interrupt distributor: closes the windows of a core, and writes routes of SPIs. */

#include "distributor/distributor.h"

#include "distributor/route.h"
#include "gic/listed.h"
#include "gic/muted.h"
#include "gic/system_registers.h"
#include "scheduler/core.h"
#include "scheduler/scheduler.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

uint32_t distributor_home_vcpu(struct partition *partition, uint32_t number)
{
    const struct distribution_source *source = distribution_find(&partition->distribution, number);

    return source != NULL ? __atomic_load_n(&source->home, __ATOMIC_RELAXED)
                          : route_vcpu(partition, number);
}

static void lock_distribution(struct partition *partition)
{
    ticket_lock_take(&partition->distribution.lock, TICKET_LOCK_PATIENCE);
}

/* Returns the time in windows. `part`: duration of a part, in ticks. */
static uint32_t windows_of(uint64_t ticks, uint64_t part)
{
    return (uint32_t)(ticks / (part * PROFILE_PARTS));
}

/* Returns the duration of a part, in ticks. */
static uint64_t part_of_counter(void)
{
    return register_read(cntfrq_el0) / PROFILE_PARTS_A_SECOND;
}

_Static_assert(DISTRIBUTION_REST *PROFILE_PARTS == PROFILE_PARTS_A_SECOND,
               "a source rests for a second");

/* Records the route. Called before the route is written to the hardware, so that an interrupt that
 * follows it finds its VCPU (route.h). */
static void record_route(struct partition *partition, uint32_t number, uint32_t vcpu)
{
    route_set(partition, number, vcpu);
    device_publish();
}

void distributor_begin_route(struct partition *partition, uint32_t number, uint32_t vcpu)
{
    struct distribution_source *source = distribution_find(&partition->distribution, number);

    lock_distribution(partition);
    if (source != NULL) {
        distribution_set_home(source, vcpu,
                              windows_of(register_read(cntpct_el0), part_of_counter()));
    }
    record_route(partition, number, vcpu);
}

void distributor_end_route(struct partition *partition)
{
    ticket_lock_give(&partition->distribution.lock);
}

static uint32_t all_vcpus(const struct partition *partition)
{
    return (UINT32_C(1) << partition->constant.described->vcpu_count) - 1;
}

/* Returns true if the SPI is active in the GIC: it is listed or set aside for a VCPU. */
static bool is_active(const struct partition *partition, uint32_t number)
{
    uintptr_t registers = gic_distributor(partition->constant.system).interrupts;

    return muted_has(partition, number) ||
           (device_read32(registers + GIC_ISACTIVER + UINT64_C(4) * (number / 32)) >> number % 32 &
            1) != 0;
}

/* Announces another route of an SPI. A pending interrupt stays pending, and an active one stays
 * active (IHI 0069, GICD_IROUTER<n>). An active interrupt may be pending for the guest in a list
 * register of the VCPU that the SPI leaves, because the guest has masked its interrupts, or it may
 * be set aside for that VCPU. Then that VCPU has to return it to the GIC. Returns the VCPUs that
 * have to be called: bit n for VCPU n. */
static uint32_t announce_route(struct partition *partition, uint32_t number)
{
    return is_active(partition, number) ? listed_announce(partition, all_vcpus(partition)) : 0;
}

void distributor_follow_route(struct vcpu *vcpu, uint32_t number)
{
    if (vcpu->partition->constant.is_listed) {
        listed_call(vcpu, announce_route(vcpu->partition, number));
    }
}

/* Routes a source to its target. Returns the VCPUs that have to be called: bit n for VCPU n. */
static uint32_t route_to_target(struct partition *partition,
                                const struct distribution_source *source)
{
    uintptr_t registers = gic_distributor(partition->constant.system).interrupts;

    record_route(partition, source->number, source->target);
    device_write64(registers + GICD_IROUTER + UINT64_C(8) * source->number,
                   partition_core(partition, source->target)->affinity);
    return announce_route(partition, source->number);
}

/* Returns the sources that the VCPU has taken and that are active. */
static uint32_t active_sources(const struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct distribution_source *sources = partition->distribution.sources;
    uint32_t active = 0;

    for (unsigned i = 0; i < PROFILE_SOURCES && sources[i].number != 0; i++) {
        if (sources[i].target == vcpu->number && sources[i].home != vcpu->number &&
            is_active(partition, sources[i].number)) {
            active |= UINT32_C(1) << i;
        }
    }
    return active;
}

/* Routes the sources to their targets that have another one now. Returns the VCPUs that have to be
 * called. */
static uint32_t route_sources(struct partition *partition, const struct distribution_window *window)
{
    uint32_t called = 0;

    for (uint32_t left = window->routed; left != 0; left &= left - 1) {
        called |= route_to_target(partition, &partition->distribution.sources[__builtin_ctz(left)]);
    }
    return called;
}

static void close_window(struct vcpu *vcpu, struct distribution_window *window)
{
    struct distribution_log *log = &processor_this()->shared->log;
    struct partition *partition = vcpu->partition;
    uint32_t called;

    lock_distribution(partition);
    window->partition = (uint16_t)partition->constant.index;
    window->vcpu = vcpu->number;
    window->neighbours = vcpus_on_same_core(vcpu);
    window->active = active_sources(vcpu);
    window->has_offered = false;
    distribution_close_window(&partition->distribution, &vcpu->profile, window, log);
    called = window->has_offered ? all_vcpus(partition) : 0;
    called |= route_sources(partition, window);
    distributor_end_route(partition);
    listed_call(vcpu, called);
}

/* Most sources that return before the core takes interrupts, so that no entry takes long
 * (docs/decisions/0063). */
#define RETURNED_AT_ONCE 4u

void distributor_return_all(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    uint64_t now = register_read(cntpct_el0);
    struct distribution_window window = {.now = now,
                                         .time = windows_of(now, part_of_counter()),
                                         .partition = (uint16_t)partition->constant.index,
                                         .vcpu = vcpu->number};
    uint32_t called = 0;

    if (vcpu->shared == NULL || partition->constant.described->distribute == 0) {
        return;
    }
    do {
        lock_distribution(partition);
        distribution_return(&partition->distribution, &window, &processor_this()->shared->log,
                            RETURNED_AT_ONCE);
        called |= route_sources(partition, &window);
        distributor_end_route(partition);
        if (window.routed != 0) {
            scheduler_handle_interrupts(vcpu);
        }
    } while (window.routed != 0);
    listed_call(vcpu, called);
}

/* Returns true if the guest has enabled Group 1 on this VCPU. Then the VCPU is on, because a VCPU
 * that turns off or starts has Group 1 disabled. */
static bool is_open(const struct processor *processor, const struct vcpu *vcpu)
{
    uint64_t control = vcpu == processor->vcpu ? GIC_REGISTER_READ(ICH_VMCR_EL2)
                                               : vcpu->shared->interrupts.machine_control;

    return (control & ICH_VMCR_GROUP1) != 0;
}

static uint8_t percent(uint64_t ticks, uint64_t whole)
{
    return (uint8_t)(ticks < whole ? ticks * 100 / whole : 100);
}

/* Closes the window of a VCPU after measuring what it and others have used. */
static void evaluate_vcpu(const struct processor *processor, struct vcpu *vcpu, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct shared_vcpu *shared = vcpu->shared;
    struct distribution_window *window = &core->window;
    uint64_t ticks = now - shared->judged;
    uint64_t used = vcpu->report.used - shared->used_before;
    uint64_t idle = core->ledger.idle - shared->idle_before;

    shared->judged = now;
    shared->used_before = vcpu->report.used;
    shared->idle_before = core->ledger.idle;
    window->used = percent(used, ticks);
    window->idle = percent(idle, ticks);
    window->may_offer = vcpu->partition->constant.described->distribute != 0;
    window->is_open = is_open(processor, vcpu);
    window->has_budget = used <= window->parts * shared->room;
    close_window(vcpu, window);
}

/* Most VCPUs whose part is closed in one exit. */
#define CLOSED_AT_ONCE 4u

/* Begins to close a part of the window for all VCPUs of the core. */
static void begin_closing(struct shared_core *core, uint64_t now)
{
    struct distribution_window *window = &core->window;

    core->closing = (now - window->now) / window->part;
    window->now += core->closing * window->part;
    window->time = windows_of(window->now, window->part);
    window->parts += core->closing;
}

/* Closes the part for the next VCPUs. After the last one, a window of enough parts is over. */
static void close_next_parts(struct shared_core *core)
{
    for (unsigned n = 0; n < CLOSED_AT_ONCE && core->closed < core->vcpu_count; n++) {
        struct vcpu *vcpu = core->vcpus[core->closed++];

        distribution_close_part(&vcpu->partition->distribution, &vcpu->profile, core->closing);
    }
    if (core->closed == core->vcpu_count) {
        core->closed = 0;
        core->closing = 0;
        core->has_to_judge = core->window.parts >= PROFILE_PARTS;
    }
}

/* Parts from a window of a core that has taken a source to the next exit, at most. */
#define LOOK_PARTS 35u

/* Closes the window of the next VCPU. Only one is closed in an exit, so that no exit takes long.
 * The most urgent VCPU is the first. The next part begins to be closed after the windows of all
 * VCPUs. */
static void close_next_window(const struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct distribution_window *window = &core->window;

    evaluate_vcpu(processor, core->vcpus[core->judged], now);
    core->judged++;
    if (core->judged == core->vcpu_count) {
        core->judged = 0;
        core->has_to_judge = false;
        core->look_due = window->has_taken ? window->now + LOOK_PARTS * window->part : UINT64_MAX;
        shared_core_set_exit_due(core);
        window->parts = 0;
        window->urgent = 0;
        window->is_contended = false;
        window->has_taken = false;
    }
}

void distributor_close_windows(const struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;

    if (core->has_to_judge) {
        close_next_window(processor, now);
    } else {
        if (core->closing == 0 && now - core->window.now >= core->window.part) {
            begin_closing(core, now);
        }
        if (core->closing != 0) {
            close_next_parts(core);
        }
    }
}
