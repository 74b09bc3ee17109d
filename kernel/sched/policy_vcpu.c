/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policy of budgeted VCPUs (kernel/vcpu.h). A thread whose VCPU has budget has the urgency of
 * the VCPU's level, every other thread that of its priority in the background. So the run queue and
 * the waiting queues know urgencies alone.
 *
 * Whether a VCPU has budget changes at the end of the budget (policy_charge()), at a replenishment
 * (the queue of them) and at a wake-up. The VCPU is then put on the list `changed`, and
 * policy_choose() computes the urgencies of its threads again, before it picks one.
 */
#include "kernel/trace.h"
#include "sched/policy.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/vcpu_policy.h"

void policy_init(struct policy *policy)
{
    run_queue_init(&policy->run_queue);
    policy->vcpus = (struct vcpu_set){.main_count = 0};
    list_init(&policy->replenishments);
    policy->replenishment_at = POLICY_NEVER;
    list_init(&policy->changed);
    mutex_init(&policy->vcpu_lock);
    policy->vcpu_of_thread = NULL;
}

static void mark_changed(struct policy *policy, struct vcpu *vcpu)
{
    if (!list_node_is_linked(&vcpu->changed)) {
        list_push_back(&policy->changed, &vcpu->changed);
    }
}

/* Charges the server for what was executed since the latest settle(), and for `ticks` more. Returns
 * true if it has budget. */
static bool charge_server(struct vcpu *vcpu, uint64_t ticks, uint64_t now)
{
    uint64_t used = vcpu->span - vcpu->left + ticks;

    vcpu->span = 0;
    vcpu->left = 0;
    if (used == 0) {
        return vcpu_server_available(&vcpu->server, now) > 0;
    }
    vcpu->record->received += used;
    return vcpu_server_charge(&vcpu->server, used, now) > 0;
}

/* Does the same, and finds out how long it may execute until the server has to be asked again. */
static bool settle(struct vcpu *vcpu, uint64_t ticks, uint64_t now)
{
    bool has_budget = charge_server(vcpu, ticks, now);

    if (has_budget) {
        vcpu->span = vcpu_server_next_event(&vcpu->server, now) - now;
        vcpu->left = vcpu->span;
    }
    return has_budget;
}

/* Returns true if an I/O VCPU has another level now, because it serves another VCPU. */
static bool unblock_server(const struct vcpu_set *set, struct vcpu *vcpu, uint64_t now)
{
    bool is_io = vcpu->server.is_io;

    vcpu_server_unblock(&vcpu->server, is_io ? vcpu_set_served_period(set, vcpu) : 0, now);
    return is_io && vcpu_set_io_level(set, vcpu) != vcpu->level;
}

/* A thread that executes on the VCPU's budget becomes runnable. Returns true if the VCPU has
 * changed. */
static bool join(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    bool moved;

    vcpu->runnable++;
    if (vcpu->runnable > 1) {
        return false;
    }
    vcpu->runnable_since = now;
    trace_vcpu_runnable(vcpu->id);
    moved = unblock_server(&policy->vcpus, vcpu, now);
    if (settle(vcpu, 0, now) && vcpu->has_budget && !moved) {
        return false;
    }
    mark_changed(policy, vcpu);
    return true;
}

static struct vcpu *vcpu_at(struct list_node *node)
{
    return CONTAINER_OF(node, struct vcpu, replenishment);
}

/* The VCPU waits for no replenishment. */
static void cancel_replenishment(struct policy *policy, struct vcpu *vcpu)
{
    struct list_node *first;

    if (list_node_is_linked(&vcpu->replenishment)) {
        list_remove(&vcpu->replenishment);
        first = list_first(&policy->replenishments);
        policy->replenishment_at = first == NULL ? POLICY_NEVER : vcpu_at(first)->replenished_at;
    }
}

/* A thread that executes on the VCPU's budget blocks. */
static void leave(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    if (vcpu == NULL) {
        return;
    }
    vcpu->runnable--;
    if (vcpu->runnable > 0) {
        return;
    }
    trace_vcpu_blocked(vcpu->id);
    cancel_replenishment(policy, vcpu);
    (void)charge_server(vcpu, 0, now);
    vcpu_server_block(&vcpu->server, now);
    if (now - vcpu->runnable_since > vcpu->record->response_max) {
        vcpu->record->response_max = now - vcpu->runnable_since;
    }
}

void policy_admit(struct policy *policy, struct thread *thread, unsigned priority)
{
    int id = policy->vcpu_of_thread == NULL ? 0 : policy->vcpu_of_thread(thread->name);
    struct vcpu *vcpu = vcpu_set_find(&policy->vcpus, id);

    thread->standing = (struct standing){.priority = priority, .bound = vcpu, .charged = vcpu};
    thread->standing.urgency = policy_own_urgency(thread);
    list_node_init(&thread->standing.bound_node);
    if (vcpu != NULL) {
        list_push_back(&vcpu->threads, &thread->standing.bound_node);
    }
}

void policy_dismiss(struct thread *thread)
{
    list_remove(&thread->standing.bound_node);
    thread->standing.bound = NULL;
    thread->standing.charged = NULL;
}

/* A thread of a Main VCPU that waits for the work of an I/O VCPU: the latter serves its period. */
static void request_service(struct policy *policy, const struct thread *thread, uint64_t now)
{
    struct vcpu *service = thread->standing.service;
    const struct vcpu *client = thread->standing.bound;

    if (service == NULL || client == NULL) {
        return;
    }
    service->waiting[client->id - 1]++;
    if (service->runnable > 0) {
        bool has_budget = settle(service, 0, now);

        if (unblock_server(&policy->vcpus, service, now) || !has_budget) {
            mark_changed(policy, service);
        }
    }
}

/* The wait for the work of an I/O VCPU has ended, or its thread goes to another VCPU. */
static void withdraw_request(const struct thread *thread)
{
    struct vcpu *service = thread->standing.service;
    const struct vcpu *client = thread->standing.bound;

    if (service != NULL && client != NULL) {
        service->waiting[client->id - 1]--;
    }
}

bool policy_unblock(struct policy *policy, struct thread *thread, const struct thread *running,
                    uint64_t now)
{
    struct vcpu *vcpu = thread->standing.charged;

    if (thread->standing.service != NULL) {
        withdraw_request(thread);
        thread->standing.service = NULL;
    }
    run_queue_add(&policy->run_queue, thread);
    if (vcpu != NULL && join(policy, vcpu, now)) {
        return true;
    }
    return running == NULL || thread_urgency(thread) > thread_urgency(running);
}

void policy_block(struct policy *policy, struct thread *thread, uint64_t now)
{
    run_queue_remove(&policy->run_queue, thread);
    leave(policy, thread->standing.charged, now);
    request_service(policy, thread, now);
}

/* The VCPU executes without budget, or reaches its server's next event. Not inline, because most
 * charges don't get here, and would pay for the registers that it saves. */
__attribute__((noinline)) static void charge_beyond(struct policy *policy, struct vcpu *vcpu,
                                                    uint64_t ticks, uint64_t now)
{
    if (!vcpu->has_budget) {
        vcpu->record->background += ticks;
    } else if (!settle(vcpu, ticks, now)) {
        vcpu->record->exhaustions++;
        trace_vcpu_exhausted(vcpu->id);
        mark_changed(policy, vcpu);
    }
}

/* Between two events of the server, the ticks until the next one alone are counted: most charges,
 * and so most switches, don't take the server's steps. */
void policy_charge(struct policy *policy, struct thread *thread, uint64_t ticks, uint64_t now)
{
    struct vcpu *vcpu = thread->standing.charged;

    if (vcpu == NULL) {
        return;
    }
    if (ticks < vcpu->left) {
        vcpu->left -= ticks;
    } else {
        charge_beyond(policy, vcpu, ticks, now);
    }
}

/* Handlers run before all threads, so that their time comes off the budget, or off the next one. */
void policy_charge_interrupt(struct policy *policy, struct thread *thread, uint64_t ticks,
                             uint64_t now)
{
    struct vcpu *vcpu = thread == NULL ? NULL : thread->standing.charged;

    if (vcpu == NULL) {
        return;
    }
    if (!settle(vcpu, ticks, now)) {
        trace_vcpu_exhausted(vcpu->id);
        mark_changed(policy, vcpu);
    }
}

/* Puts a VCPU on the list of replenishments. The search begins at the earliest, because the VCPUs
 * of short periods, whose replenishments are soon, come here most often. */
static void await_replenishment(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    const struct list *list = &policy->replenishments;
    struct list_node *later = list->head.next;

    vcpu->replenished_at = vcpu_server_next_event(&vcpu->server, now);
    while (later != &list->head && vcpu_at(later)->replenished_at <= vcpu->replenished_at) {
        later = later->next;
    }
    list_insert_before(later, &vcpu->replenishment);
    if (vcpu->replenished_at < policy->replenishment_at) {
        policy->replenishment_at = vcpu->replenished_at;
    }
}

/* Brings the VCPU's replenishment, its level and the urgencies of its threads up to date. */
static void update(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    bool had_budget = vcpu->has_budget;

    vcpu->has_budget = settle(vcpu, 0, now);
    if (vcpu->has_budget && !had_budget) {
        trace_vcpu_replenished(vcpu->id, vcpu_server_available(&vcpu->server, now));
    }
    if (vcpu->server.is_io) {
        vcpu->level = vcpu_set_io_level(&policy->vcpus, vcpu);
    }
    cancel_replenishment(policy, vcpu);
    if (vcpu->runnable > 0 && !vcpu->has_budget) {
        await_replenishment(policy, vcpu, now);
    }
    LIST_FOR_EACH(node, &vcpu->threads)
    {
        scheduler_update_urgency(CONTAINER_OF(node, struct thread, standing.bound_node), now);
    }
}

static void take_replenishments(struct policy *policy, uint64_t now)
{
    while (policy->replenishment_at <= now) {
        struct vcpu *vcpu = vcpu_at(list_first(&policy->replenishments));

        cancel_replenishment(policy, vcpu);
        mark_changed(policy, vcpu);
    }
}

/*
 * Takes the replenishments that are due, and updates the VCPUs that have changed. A loan may end or
 * begin by this, and change the VCPU of the lender. Each VCPU changes a bounded number of times,
 * because no time passes. Not inline, because most decisions find nothing to do here.
 */
__attribute__((noinline)) static void update_all(struct policy *policy, uint64_t now)
{
    struct list_node *node;

    take_replenishments(policy, now);
    for (node = list_pop_front(&policy->changed); node != NULL;
         node = list_pop_front(&policy->changed)) {
        update(policy, CONTAINER_OF(node, struct vcpu, changed), now);
    }
}

struct thread *policy_choose(struct policy *policy, uint64_t now)
{
    if (!list_is_empty(&policy->changed) || policy->replenishment_at <= now) {
        update_all(policy, now);
    }
    return run_queue_pick(&policy->run_queue);
}

uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now)
{
    const struct vcpu *vcpu = running->standing.charged;
    uint64_t next = policy->replenishment_at;

    if (vcpu != NULL && vcpu->has_budget) {
        uint64_t end = now + vcpu->left;

        next = end < next ? end : next;
    }
    return next;
}

void policy_yield(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)now;
    run_queue_yield(&policy->run_queue, thread);
}

unsigned policy_priority(const struct thread *thread)
{
    return thread->standing.priority;
}

void policy_set_priority(struct thread *thread, unsigned priority)
{
    thread->standing.priority = priority;
}

unsigned policy_own_urgency(const struct thread *thread)
{
    const struct vcpu *vcpu = thread->standing.bound;
    unsigned level = vcpu != NULL && vcpu->has_budget ? vcpu->level : URGENCY_BACKGROUND;

    return urgency_make(level, thread->standing.priority);
}

/* Returns the VCPU whose budget the thread uses with this lender, NULL: with its own. */
static struct vcpu *charged_with(const struct thread *thread, const struct thread *waiter)
{
    return waiter == NULL ? thread->standing.bound : waiter->standing.charged;
}

static unsigned urgency_with(const struct thread *thread, const struct thread *waiter)
{
    return waiter == NULL ? policy_own_urgency(thread) : thread_urgency(waiter);
}

bool policy_has_loan(const struct thread *thread, const struct thread *waiter)
{
    return thread_urgency(thread) == urgency_with(thread, waiter) &&
           thread->standing.charged == charged_with(thread, waiter);
}

void policy_lend(struct policy *policy, struct thread *thread, const struct thread *waiter,
                 uint64_t now)
{
    unsigned urgency = urgency_with(thread, waiter);
    struct vcpu *before = thread->standing.charged;

    thread->standing.charged = charged_with(thread, waiter);
    if (!thread_is_runnable(thread)) {
        thread->standing.urgency = urgency;
        return;
    }
    if (thread->standing.charged != before) {
        leave(policy, before, now);
        if (thread->standing.charged != NULL) {
            (void)join(policy, thread->standing.charged, now);
        }
    }
    if (urgency != thread_urgency(thread)) {
        run_queue_change_urgency(&policy->run_queue, thread, urgency);
    }
}

void policy_set_service(struct thread *thread, const struct thread *server)
{
    struct vcpu *service = server == NULL ? NULL : server->standing.bound;

    thread->standing.service = service != NULL && service->server.is_io ? service : NULL;
}

void policy_count_miss(struct thread *thread)
{
    if (thread->standing.bound != NULL) {
        thread->standing.bound->record->deadline_misses++;
    }
}

bool policy_is_alone(const struct policy *policy, const struct thread *running)
{
    const struct vcpu *vcpu = running->standing.charged;
    size_t others = run_queue_count(&policy->run_queue) - 1;

    /* The idle thread is on the queue. */
    return others <= 1 && (vcpu == NULL || !vcpu->has_budget);
}

void policy_bind(struct policy *policy, struct thread *thread, struct vcpu *vcpu, uint64_t now)
{
    bool waits = thread->state == THREAD_BLOCKED;

    if (waits) {
        withdraw_request(thread);
    }
    list_remove(&thread->standing.bound_node);
    thread->standing.bound = vcpu;
    trace_thread_bound(thread, vcpu == NULL ? 0 : vcpu->id);
    if (vcpu != NULL) {
        list_push_back(&vcpu->threads, &thread->standing.bound_node);
    }
    if (waits) {
        request_service(policy, thread, now);
    }
    scheduler_update_urgency(thread, now);
}

void policy_set_parameters(struct vcpu *vcpu, uint64_t budget, uint64_t period, uint64_t now)
{
    (void)charge_server(vcpu, 0, now);
    (void)vcpu_server_set_parameters(&vcpu->server, budget, period, now);
}

void policy_rank(struct policy *policy)
{
    vcpu_set_rank(&policy->vcpus);
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (policy->vcpus.vcpu[i] != NULL) {
            mark_changed(policy, policy->vcpus.vcpu[i]);
        }
    }
}

/* Ends all requests for the work of a VCPU, or by its threads. */
static void forget_requests(struct policy *policy, const struct vcpu *vcpu,
                            const struct list *threads)
{
    LIST_FOR_EACH(node, threads)
    {
        struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        if (thread->standing.service == vcpu) {
            thread->standing.service = NULL;
        }
    }
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (policy->vcpus.vcpu[i] != NULL) {
            policy->vcpus.vcpu[i]->waiting[vcpu->id - 1] = 0;
        }
    }
}

void policy_remove_vcpu(struct policy *policy, struct vcpu *vcpu, const struct list *threads)
{
    forget_requests(policy, vcpu, threads);
    list_remove(&vcpu->changed);
    vcpu_set_remove(&policy->vcpus, vcpu);
    policy_rank(policy);
}
