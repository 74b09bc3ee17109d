/* SPDX-License-Identifier: BSD-2-Clause */
/* VCPUs: creation with admission, parameters, threads bound to them (kernel/vcpu.h). */
#include "kernel/vcpu.h"

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/trace.h"
#include "sched/core.h"
#include "sched/interrupt_overhead.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/vcpu_policy.h"
#include "sched/vcpu_record.h"
#include "sched/vcpu_supply.h"
#include "schedule/admission.h"
#include "time/clock.h"
#include <arch/cpu.h>
#include <string.h>

_Static_assert(VCPU_MAX <= ADMISSION_VCPUS_MAX, "admission tests all VCPUs");

/* A set of VCPUs that is tested before it is put into effect. */
struct proposal {
    struct admission_vcpu vcpu[VCPU_MAX];
    struct admission_response response[VCPU_MAX];
    int id[VCPU_MAX];
    uint64_t blocking[VCPU_MAX]; /* nanoseconds, without overheads */
    uint32_t threads[VCPU_MAX];
    size_t count;
};

static struct policy *the_policy(void)
{
    return &core_this()->policy;
}

static int failure(enum result result)
{
    return -(int)result;
}

static bool is_valid(const struct vcpu_param *param)
{
    uint64_t budget = clock_ticks_up(param->C);
    uint64_t period = clock_ticks_down(param->T);

    return (param->policy == SCHED_SPORADIC || param->policy == SCHED_PIBS) &&
           (param->mask == 0 || (param->mask & 1u) != 0) &&
           schedule_check_parameters(budget, period) == SCHEDULE_OK &&
           clock_ticks_up(param->blocking) <= period;
}

static uint32_t threads_of(const struct vcpu_param *param)
{
    return param->threads != 0 ? param->threads : 1;
}

static void propose(struct proposal *proposal, int id, struct admission_vcpu vcpu,
                    uint64_t blocking, uint32_t threads)
{
    proposal->vcpu[proposal->count] = vcpu;
    proposal->id[proposal->count] = id;
    proposal->blocking[proposal->count] = blocking;
    proposal->threads[proposal->count] = threads;
    proposal->count++;
}

static void propose_new(struct proposal *proposal, int id, const struct vcpu_param *param)
{
    propose(proposal, id,
            (struct admission_vcpu){
                .kind = param->policy == SCHED_PIBS ? ADMISSION_IO : ADMISSION_MAIN,
                .budget = clock_ticks_up(param->C),
                .period = clock_ticks_down(param->T),
            },
            param->blocking, threads_of(param));
}

static void propose_existing(struct proposal *proposal, const struct vcpu *vcpu)
{
    const struct vcpu_server *server = &vcpu->server;
    bool is_io = server->is_io;

    propose(proposal, vcpu->id,
            (struct admission_vcpu){
                .kind = is_io ? ADMISSION_IO : ADMISSION_MAIN,
                .budget = is_io ? server->io.share_budget : server->main.budget,
                .period = is_io ? server->io.share_period : server->main.period,
            },
            vcpu->blocking, vcpu->threads_expected);
}

/* Fills in the VCPUs, with `param` in place of the one of that id, in the order of their ids: of
 * equal periods the smaller id has the higher priority, for admission and vcpu_set.c alike. */
static void propose_all(struct proposal *proposal, const struct vcpu_param *param, int id)
{
    const struct vcpu_set *set = &the_policy()->vcpus;

    proposal->count = 0;
    for (int each = 1; each <= (int)VCPU_MAX; each++) {
        const struct vcpu *vcpu = vcpu_set_find(set, each);

        if (each == id) {
            propose_new(proposal, id, param);
        } else if (vcpu != NULL) {
            propose_existing(proposal, vcpu);
        }
    }
}

/* Adds what the kernel takes and no VCPU pays, as ./bulkhead check does, if check has analysed this
 * kernel. */
static void add_overheads(struct proposal *proposal)
{
    const struct guest_costs *costs = vcpu_costs();

    for (size_t i = 0; i < proposal->count; i++) {
        struct guest_overheads overheads = {.end = 0};
        struct admission_vcpu *vcpu = &proposal->vcpu[i];

        if (costs != NULL) {
            overheads =
                guest_overheads_of(costs, proposal->vcpu, proposal->threads, proposal->count, i);
        }
        vcpu->blocking = clock_ticks_up(proposal->blocking[i] + overheads.end + overheads.wakes);
        vcpu->unpaid = clock_ticks_up(overheads.unpaid);
        vcpu->overrun = clock_ticks_up(overheads.overrun);
    }
}

/* Tests whether the VCPUs, with `param` as VCPU `id`, can all have their budgets. Writes to `param`
 * by how much they can't. */
static enum result admit(struct vcpu_param *param, int id)
{
    struct proposal *proposal = heap_allocate(sizeof(*proposal));
    struct admission_result result = {0};
    enum schedule_error error;

    if (proposal == NULL) {
        return RESULT_NO_MEMORY;
    }
    propose_all(proposal, param, id);
    add_overheads(proposal);
    error = admission_test_within(vcpu_supply(), proposal->vcpu, proposal->count,
                                  proposal->response, &result);
    if (error != SCHEDULE_OK) {
        param->late_id = proposal->id[result.vcpu] == id ? 0 : proposal->id[result.vcpu];
        param->excess = clock_nanoseconds(result.excess);
    }
    heap_free(proposal);
    return error == SCHEDULE_OK ? RESULT_OK : RESULT_OVERLOADED;
}

/* Tells tools the parameters, and starts the counters at `now`. Interrupts masked. */
static void record_parameters(const struct vcpu *vcpu, const struct vcpu_param *param, uint64_t now)
{
    struct vcpu_record record = {
        .kind = param->policy == SCHED_PIBS ? VCPU_RECORD_IO : VCPU_RECORD_MAIN,
        .budget = clock_ticks_up(param->C),
        .period = clock_ticks_down(param->T),
    };

    memcpy(record.name, param->name, VCPU_NAME_BYTES - 1);
    vcpu_record_write(vcpu->record, &record, now);
    trace_vcpu_created(vcpu->id, record.name, param->policy, record.budget, record.period);
}

/* Makes the change to the set of VCPUs known to the policy. Interrupts masked. */
static void change_set(void)
{
    policy_rank(the_policy());
    core_this()->reschedule = true;
}

static struct vcpu *vcpu_make(const struct vcpu_param *param, int id, uint64_t now)
{
    struct vcpu *vcpu = heap_allocate(sizeof(*vcpu));

    if (vcpu == NULL) {
        return NULL;
    }
    memset(vcpu, 0, sizeof(*vcpu));
    vcpu->id = id;
    vcpu->blocked_at = now;
    vcpu->wanted_since = now;
    vcpu->blocking = param->blocking;
    vcpu->threads_expected = threads_of(param);
    vcpu->record = &core_this()->vcpu_report.records[id - 1];
    (void)vcpu_server_init(&vcpu->server, param->policy == SCHED_PIBS, clock_ticks_up(param->C),
                           clock_ticks_down(param->T), now);
    vcpu->most = vcpu_server_most(&vcpu->server);
    run_queue_group_init(&vcpu->group);
    list_init(&vcpu->threads);
    return vcpu;
}

/* Calls that change the set exclude each other by this lock, so that a set is tested and put into
 * effect before the next one is tested. */
static struct mutex *lock(void)
{
    return &the_policy()->vcpu_lock;
}

/* Returns true if the budget is worth its switches. Otherwise writes the least budget to `param`.
 * Without costs of check, the kernel counts an end of a budget and its return, which it measures.
 */
static bool is_worth(struct vcpu_param *param)
{
    const struct guest_costs *analysed = vcpu_costs();
    struct guest_costs costs = {.end = 0};

    interrupt_overhead_measure();
    if (analysed != NULL) {
        costs = *analysed;
    } else {
        costs.end = clock_nanoseconds(the_policy()->end_cost);
    }
    param->least = guest_budget_min(&costs);
    return param->C >= param->least;
}

static int create(struct vcpu_param *param)
{
    int id = vcpu_set_free_id(&the_policy()->vcpus);
    enum result result;
    struct vcpu *vcpu;
    interrupt_state state;
    uint64_t now;

    if (id == 0) {
        return failure(RESULT_OVERFLOW);
    }
    result = is_worth(param) ? admit(param, id) : RESULT_TOO_SMALL;
    if (result != RESULT_OK) {
        return failure(result);
    }
    now = arch_clock_ticks();
    vcpu = vcpu_make(param, id, now);
    if (vcpu == NULL) {
        return failure(RESULT_NO_MEMORY);
    }
    state = interrupts_save();
    record_parameters(vcpu, param, now);
    vcpu_report_publish(&core_this()->vcpu_report);
    vcpu_set_add(&the_policy()->vcpus, vcpu);
    change_set();
    interrupts_restore(state);
    return id;
}

static int set_parameters(struct vcpu_param *param)
{
    struct vcpu *vcpu = vcpu_set_find(&the_policy()->vcpus, param->id);
    enum result result;
    interrupt_state state;
    uint64_t now;

    if (vcpu == NULL) {
        return failure(RESULT_NOT_FOUND);
    }
    if (vcpu->server.is_io != (param->policy == SCHED_PIBS)) {
        return failure(RESULT_INVALID);
    }
    result = is_worth(param) ? admit(param, param->id) : RESULT_TOO_SMALL;
    if (result != RESULT_OK) {
        return failure(result);
    }
    state = interrupts_save();
    now = core_charge(core_this());
    policy_set_parameters(vcpu, clock_ticks_up(param->C), clock_ticks_down(param->T), now);
    vcpu->blocking = param->blocking;
    vcpu->threads_expected = threads_of(param);
    record_parameters(vcpu, param, now);
    change_set();
    interrupts_restore(state);
    return 0;
}

/* Terminates the VCPU's threads but the calling one. A thread that holds a mutex ends when it has
 * unlocked it; until then it runs without VCPU. Interrupts masked. */
static void terminate_threads(struct vcpu *vcpu)
{
    uint64_t now = core_charge(core_this());

    while (!list_is_empty(&vcpu->threads)) {
        struct thread *thread =
            CONTAINER_OF(list_first(&vcpu->threads), struct thread, standing.bound_node);

        policy_bind(the_policy(), thread, NULL, now);
        thread_terminate(thread);
    }
}

static int destroy(int id, bool force)
{
    struct vcpu *vcpu = vcpu_set_find(&the_policy()->vcpus, id);
    interrupt_state state = interrupts_save();

    if (vcpu == NULL || (!force && !list_is_empty(&vcpu->threads))) {
        interrupts_restore(state);
        return failure(vcpu == NULL ? RESULT_NOT_FOUND : RESULT_BUSY);
    }
    terminate_threads(vcpu);
    policy_remove_vcpu(the_policy(), vcpu, &core_this()->threads);
    trace_vcpu_destroyed(id);
    vcpu_record_clear(vcpu->record);
    core_this()->reschedule = true;
    interrupts_restore(state);
    heap_free(vcpu);
    return 0;
}

int vcpu_create(struct vcpu_param *param)
{
    int result;

    if (param == NULL || !is_valid(param)) {
        return failure(RESULT_INVALID);
    }
    (void)mutex_lock(lock(), DEADLINE_NONE);
    result = create(param);
    (void)mutex_unlock(lock());
    return result;
}

int vcpu_setparam(struct vcpu_param *param)
{
    int result;

    if (param == NULL || !is_valid(param)) {
        return failure(RESULT_INVALID);
    }
    (void)mutex_lock(lock(), DEADLINE_NONE);
    result = set_parameters(param);
    (void)mutex_unlock(lock());
    return result;
}

int vcpu_destroy(int id, bool force)
{
    int result;

    (void)mutex_lock(lock(), DEADLINE_NONE);
    result = destroy(id, force);
    (void)mutex_unlock(lock()); /* ends the caller here if it was one of the VCPU's threads */
    return result;
}

int vcpu_bind_thread(struct thread *thread, int id)
{
    interrupt_state state = interrupts_save();
    struct vcpu *vcpu = vcpu_set_find(&the_policy()->vcpus, id);
    int result = 0;

    if (vcpu == NULL && id != 0) {
        result = failure(RESULT_NOT_FOUND);
    } else if (thread == core_this()->idle || thread->state == THREAD_FINISHED) {
        result = failure(RESULT_INVALID);
    } else {
        policy_bind(the_policy(), thread, vcpu, core_charge(core_this()));
        core_this()->reschedule = true;
    }
    interrupts_restore(state);
    return result;
}

int vcpu_bind_task(int id)
{
    return vcpu_bind_thread(thread_current(), id);
}

bool vcpu_request_service(const struct thread *server)
{
    interrupt_state state = interrupts_save();
    bool requested = policy_set_service(core_this()->current, server);

    interrupts_restore(state);
    return requested;
}

void vcpu_assign_by_name(int (*vcpu_of_thread)(const char *name))
{
    the_policy()->vcpu_of_thread = vcpu_of_thread;
}
