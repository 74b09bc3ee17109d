/* SPDX-License-Identifier: BSD-2-Clause */
/* The interrupt distributor: decides at the end of each window of a core, and writes routes of
 * SPIs. */
#include "shared/distributing.h"

#include "gic/gic_registers.h"
#include "gic/listed.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "hypervisor/distributing.h"
#include <arch/device_access.h>

struct distribution_source *distributing_find(struct partition *partition, uint32_t number)
{
    return distribution_find(&partition->distribution, number);
}

static void lock(struct partition *partition)
{
    ticket_lock_take(&partition->distribution.lock, TICKET_LOCK_FOR_EVER);
}

/* Returns the time until which a source rests from now on: a second later. */
static uint64_t rest(void)
{
    return register_read(cntpct_el0) + register_read(cntfrq_el0);
}

_Static_assert(DISTRIBUTION_REST == PROFILE_PARTS_A_SECOND, "rest() is a second");

void distributing_begin_route(struct partition *partition, struct distribution_source *source,
                              uint32_t vcpu)
{
    lock(partition);
    if (source != NULL) {
        distribution_set_home(source, vcpu, rest());
    }
}

void distributing_end_route(struct partition *partition)
{
    ticket_lock_give(&partition->distribution.lock);
}

bool distributing_is_elsewhere(const struct vcpu *vcpu, uint32_t number)
{
    const struct distribution_source *source =
        distribution_find(&vcpu->partition->distribution, number);

    return source != NULL && __atomic_load_n(&source->target, __ATOMIC_RELAXED) != vcpu->number;
}

/* Sends messages to the partition's other VCPUs. */
static void call_others(const struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;

    for (uint32_t other = 0; other < partition->described->vcpu_count; other++) {
        if (other != vcpu->number && partition->described->vcpus[other].shared != 0) {
            gic_send(partition, other);
        }
    }
}

/* Routes a source to its target. An interrupt that is pending stays pending, and one that is active
 * stays active (IHI 0069, GICD_IROUTER<n>). The latter may wait in a list register of the VCPU that
 * the source leaves, whose guest may have masked its interrupts. Then that VCPU returns it to the
 * GIC. Returns true if the VCPUs have to be told that. */
static bool route(struct partition *partition, const struct distribution_source *source)
{
    uintptr_t registers = gic_distributor(partition->system).interrupts;
    uint32_t number = source->number;
    uintptr_t active = registers + GIC_ISACTIVER + UINT64_C(4) * (number / 32);

    device_write64(registers + GICD_IROUTER + UINT64_C(8) * number,
                   partition_core(partition, source->target)->affinity);
    if ((device_read32(active) >> number % 32 & 1) == 0) {
        return false;
    }
    listed_announce(partition, (UINT32_C(1) << partition->described->vcpu_count) - 1);
    return true;
}

static void close_window(struct vcpu *vcpu, struct distribution_window *window)
{
    struct partition *partition = vcpu->partition;
    bool has_news;

    lock(partition);
    window->vcpu = vcpu->number;
    window->has_offered = false;
    distribution_close_window(&partition->distribution, &vcpu->profile, window);
    has_news = window->has_offered;
    for (uint32_t left = window->routed; left != 0; left &= left - 1) {
        has_news |= route(partition, &partition->distribution.sources[__builtin_ctz(left)]);
    }
    distributing_end_route(partition);
    if (has_news) {
        call_others(vcpu);
    }
}

void distributing_leave(struct vcpu *vcpu)
{
    struct distribution_window window = {.parts = PROFILE_PARTS, .rest = rest()};

    close_window(vcpu, &window);
}

/* Returns true if the guest has enabled interrupts on this VCPU, which is on then: a VCPU that
 * turns off, or starts, has them disabled. */
static bool is_open(const struct processor *processor, const struct vcpu *vcpu)
{
    uint64_t control = vcpu == processor->vcpu ? GIC_REGISTER_READ(ICH_VMCR_EL2)
                                               : vcpu->shared->interrupts.machine_control;

    return (control & ICH_VMCR_GROUP1) != 0;
}

/* Judges whether a VCPU has room. A core that takes a source is not busy: it has been idle for
 * 2 / 5 of the window at least. One that keeps a source has been idle, or has executed the source's
 * VCPU, for 1 / 4: the work for the source is no reason to give it back. */
static void decide(const struct processor *processor, struct vcpu *vcpu, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct shared_vcpu *shared = vcpu->shared;
    struct distribution_window *window = &core->window;
    uint64_t ticks = now - shared->judged;
    uint64_t used = vcpu->report.used - shared->used_before;
    uint64_t idle = core->idle - shared->idle_before;

    shared->judged = now;
    shared->used_before = vcpu->report.used;
    shared->idle_before = core->idle;
    window->is_busy = idle * 5 < ticks * 2;
    window->may_offer = vcpu->partition->described->distribute != 0;
    window->is_open = is_open(processor, vcpu);
    window->can_keep = !window->is_contended && (idle + used) * 4 >= ticks;
    window->has_room = window->is_open && !window->is_contended && !window->is_busy &&
                       used <= window->parts * shared->room;
    close_window(vcpu, window);
}

/* A part of a window is over. */
static void close_part(struct shared_core *core, uint64_t now)
{
    struct distribution_window *window = &core->window;
    uint64_t parts = (now - window->now) / window->part;

    window->now += parts * window->part;
    window->lease = window->now + window->part * DISTRIBUTION_LEASE;
    window->rest = window->now + window->part * DISTRIBUTION_REST;
    window->parts += parts;
    for (unsigned level = 0; level < core->vcpu_count; level++) {
        struct vcpu *vcpu = core->vcpus[level];

        distribution_close_part(&vcpu->partition->distribution, &vcpu->profile, parts);
    }
    core->has_to_judge = window->parts >= PROFILE_PARTS;
}

/* A window is over. One VCPU is judged at a time, so that no exit takes long: the most urgent is
 * the first. The next part ends when all have been judged. */
static void judge_next(const struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct distribution_window *window = &core->window;

    decide(processor, core->vcpus[core->judged], now);
    core->judged++;
    if (core->judged == core->vcpu_count) {
        core->judged = 0;
        core->has_to_judge = false;
        core->look_due = window->has_taken ? window->lease : UINT64_MAX;
        window->parts = 0;
        window->is_contended = false;
        window->has_taken = false;
    }
}

uint64_t distributing_look(const struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;

    if (core->has_to_judge) {
        judge_next(processor, now);
    } else if (now - core->window.now >= core->window.part) {
        close_part(core, now);
    }
    return now;
}

void distributing_end_idle(const struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;

    core->idle += now - core->charged;
    core->charged = now;
    (void)distributing_look(processor, now);
}
