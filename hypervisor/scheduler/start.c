/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of a shared core, and the starts and stops of the guests on it. */
#include "distributor/distributor.h"
#include "gic/remote_access.h"
#include "hypervisor/registers.h"
#include "scheduler/core.h"
#include "scheduler/mail.h"
#include "scheduler/scheduler.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"
#include "world_switch/lazy_registers.h"

#define NANOSECONDS 1000000000u
/* A server's budget is divided into at most this many pieces, and a few more
 * (sporadic_server.h). */
#define PIECES   16u
#define CAPACITY (PIECES + 2u)
/* Nanoseconds of struct ledger_costs: ./bulkhead bench share checks that they are enough. */
#define WAY_BACK 450u
#define LEAVE    700u
#define ENTER    600u

/* Returns a duration in ticks that is not shorter. A tick more, because two readings of the clock
 * may show one less than has passed. */
static uint64_t ticks_of(uint64_t nanoseconds)
{
    return schedule_ratio_ceiling(nanoseconds, register_read(cntfrq_el0), NANOSECONDS) + 1;
}

/* Adds a VCPU that has a budget, or a utilization, to the scheduler. */
static void add_reservation(struct shared_core *core, const struct description_vcpu *described,
                            struct shared_vcpu *shared)
{
    uint64_t frequency = register_read(cntfrq_el0);
    uint64_t period = schedule_ratio_floor(described->period, frequency, NANOSECONDS);
    uint64_t budget = schedule_ratio_ceiling(described->budget, frequency, NANOSECONDS);

    budget = budget < period ? budget : period;
    shared->room = core->window.part * budget / period * 3 / 4;
    if (described->server == DESCRIPTION_SERVER_DEFERRABLE) {
        (void)deferrable_server_init(&shared->server.aligned, budget, period, core->ledger.charged);
        reservation_add_aligned(&core->policy.reservation, shared->level, &shared->server);
        return;
    }
    if (described->server == DESCRIPTION_SERVER_PIBS) {
        (void)pibs_server_init(&shared->server.io, budget, period, core->ledger.charged);
        reservation_add_io(&core->policy.reservation, shared->level, &shared->server);
        return;
    }
    (void)sporadic_server_init(&shared->server.main, budget, period, CAPACITY,
                               core->ledger.charged);
    sporadic_server_set_piece(&shared->server.main, (budget + PIECES - 1) / PIECES);
    reservation_add(&core->policy.reservation, shared->level, &shared->server);
}

/* Returns a number that is less for the more urgent one of two VCPUs of one period. */
static unsigned order_of(const struct description_vcpu *vcpu)
{
    static const uint8_t order[] = {
        [DESCRIPTION_SERVER_PIBS] = 0,
        [DESCRIPTION_SERVER_SPORADIC] = 1,
        [DESCRIPTION_SERVER_DEFERRABLE] = 2,
    };

    return order[vcpu->server];
}

/* Returns true if VCPU `other` is more urgent than VCPU `vcpu` of the core: its period is shorter,
 * or it is an I/O VCPU for this period, or it is not aligned, or it is the first of two equal ones.
 * So an aligned VCPU delays no other one of its period. `is_first`: `other` precedes `vcpu`. VCPUs
 * with weights have period 0. */
static bool outranks(const struct vcpu *other, const struct vcpu *vcpu, bool is_first)
{
    const struct description_vcpu *one =
        &other->partition->constant.described->vcpus[other->number];
    const struct description_vcpu *two = &vcpu->partition->constant.described->vcpus[vcpu->number];

    if (one->period != two->period) {
        return one->period < two->period;
    }
    return one->server != two->server ? order_of(one) < order_of(two) : is_first;
}

/* Adds a VCPU to the scheduler. */
static void add_vcpu(struct processor *processor, struct vcpu *vcpu)
{
    const struct description_vcpu *described =
        &vcpu->partition->constant.described->vcpus[vcpu->number];
    struct shared_core *core = processor->shared;
    unsigned level = 0;
    bool is_before = true;

    for (const struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        is_before = is_before && other != vcpu;
        level += outranks(other, vcpu, is_before) ? 1 : 0;
    }
    times_init(&vcpu->shared->times,
               (struct vcpu_times *)(uintptr_t)vcpu->partition->constant.times + vcpu->number,
               register_read(cntfrq_el0));
    times_unblock(&vcpu->shared->times, core->ledger.charged);
    vcpu->shared->level = level;
    vcpu->shared->expiry = UINT64_MAX;
    core->vcpus[level] = vcpu;
    core->vcpu_count++;
    if (core->policy.is_credit) {
        vcpu->shared->room = core->window.part; /* no limit besides the core's idle time */
        credit_add(&core->policy.credit, level, described->weight);
        if (described->slot_interval != 0) {
            credit_align(&core->policy.credit, level, described->slot_interval,
                         described->slot_phase);
        }
    } else {
        add_reservation(core, described, vcpu->shared);
    }
    policy_unblock(&core->policy, level, core->ledger.charged);
}

static void start_ledger(struct shared_core *core)
{
    const struct ledger_costs costs = {
        .way_back = ticks_of(WAY_BACK),
        .leave = ticks_of(LEAVE),
        .enter = ticks_of(ENTER),
    };

    ledger_init(core, scheduler_time(), &costs);
}

void scheduler_start(struct processor *processor)
{
    struct shared_core *core = processor->shared;
    struct features features = {0};

    if (core == NULL) {
        return;
    }
    if (core->has_started) {
        scheduler_resume(core, processor->vcpu);
        return;
    }
    features.isar1 = id_register_read(ID_AA64ISAR1_EL1);
    features.isar2 = id_register_read(ID_AA64ISAR2_EL1);
    core->has_pointer_keys = features_have_pointer_authentication(&features);
    core->has_deferred_errors = ID_FIELD(register_read(id_aa64pfr0_el1), PFR0_RAS) != 0;
    core->resources = debug_resources();
    core->interrupts = interrupt_resources(processor->vcpu);
    start_ledger(core);
    policy_init(&core->policy,
                schedule_ratio_ceiling(core->quantum, register_read(cntfrq_el0), NANOSECONDS));
    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        add_vcpu(processor, vcpu);
    }
    processor->vcpu->shared->has_executed = true;
    ledger_execute(core, processor->vcpu);
    core->has_started = true;
    core->reschedule = true;
}

/* Writes a record to the trace: the VCPU's guest starts, or stops executing. */
static __attribute__((noinline)) void trace_guest(const struct vcpu *vcpu, enum trace_kind kind)
{
    struct shared_core *core = processor_this()->shared;

    if (core != NULL) {
        scheduler_record(core, scheduler_charge(core), kind, vcpu->shared->level);
    }
}

void scheduler_reset(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;

    uint32_t mail = mail_remove_waiting(mail_of(vcpu));

    __atomic_store_n(&partition->atomic.requests[vcpu->number], 0, __ATOMIC_RELAXED);
    /* A request that arrived before this VCPU executed for the first time. */
    if ((mail & MAIL_REQUEST) != 0) {
        remote_carry_out(vcpu);
    }
    trace_guest(vcpu, TRACE_OFF);
    distributor_return_all(vcpu);
}

void scheduler_start_guest(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;
    struct shared_vcpu *shared = vcpu->shared;

    if (core == NULL) {
        return;
    }
    if (shared->partition_starts != vcpu->partition->boot_vcpu.starts) {
        shared->partition_starts = vcpu->partition->boot_vcpu.starts;
        times_start(&shared->times, vcpu->report.used, core->ledger.charged);
    }
    scheduler_show_times(core, vcpu, times_executed(&shared->times, vcpu->report.used));
    trace_guest(vcpu, TRACE_START);
    translations_use(core, vcpu);
    lazy_registers_load_vectors(vcpu);
    lazy_registers_load_debug(core, vcpu);
}
