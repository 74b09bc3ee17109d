/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policy of budgeted VCPUs (kernel/vcpu.h). A thread whose VCPU has budget has the urgency of
 * the VCPU's level, every other thread that of its priority in the background. So the run queue and
 * the waiting queues know urgencies alone.
 *
 * A VCPU loses its budget when it has used it up (policy_charge()), and gets the next one at a
 * replenishment (policy_choose()) or at a wake-up. The urgencies of its threads change with it.
 * Threads that hold mutexes or wait have lent or inherited urgencies, which change as well: the
 * VCPU is added to the set `changed`, and policy_choose() updates all of them before it picks a
 * thread.
 */
#include "kernel/trace.h"
#include "sched/policy.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/thread_trace.h"
#include "sched/vcpu_policy.h"

void policy_init(struct policy *policy)
{
    run_queue_init(&policy->run_queue);
    policy->vcpus = (struct vcpu_set){.main_count = 0};
    policy->demand = (struct demand){.levels = 0};
    tournament_init(&policy->replenishments);
    policy->changed = 0;
    mutex_init(&policy->vcpu_lock);
    policy->vcpu_of_thread = NULL;
    policy->end_cost = 0;
}

/* Returns the level of the urgency of the VCPU's threads. */
static unsigned level_of(const struct vcpu *vcpu)
{
    return vcpu->has_budget ? vcpu->level : URGENCY_BACKGROUND;
}

/* Returns the group in the run queue of the threads that execute on the VCPU's budget. */
static struct run_queue_group *group_of(struct vcpu *vcpu)
{
    return vcpu == NULL ? NULL : &vcpu->group;
}

static uint32_t bit_of(const struct vcpu *vcpu)
{
    return UINT32_C(1) << (vcpu->id - 1);
}

static void mark_changed(struct policy *policy, const struct vcpu *vcpu)
{
    policy->changed |= bit_of(vcpu);
}

/* Charges the server for what was executed since the latest settle(), and for `ticks` more. */
static inline void charge_server(struct vcpu *vcpu, uint64_t ticks)
{
    uint64_t used = vcpu->span - vcpu->left + ticks;

    vcpu->span = 0;
    vcpu->left = 0;
    if (used != 0) {
        vcpu->record->received += used;
        vcpu_server_charge(&vcpu->server, used);
    }
}

/* Begins a span: the time that a VCPU with budget may execute until the server has to be asked
 * again. */
static inline void begin_span(struct vcpu *vcpu, uint64_t now)
{
    vcpu->span = vcpu_server_next_event(&vcpu->server, now) - now;
    vcpu->left = vcpu->span;
}

/* Charges the server as charge_server() does, and begins a span if the VCPU has budget. Returns the
 * time from which on it has budget: it has none now if this is in the future. */
static inline uint64_t settle(struct vcpu *vcpu, uint64_t ticks, uint64_t now)
{
    uint64_t eligible;

    charge_server(vcpu, ticks);
    eligible = vcpu_server_eligible(&vcpu->server);
    if (eligible <= now) {
        begin_span(vcpu, now);
    }
    return eligible;
}

/* Unblocks the server of an I/O VCPU. Returns true if the VCPU has another level now, because it
 * serves another VCPU. */
static bool unblock_io_server(const struct vcpu_set *set, struct vcpu *vcpu, uint64_t now)
{
    unsigned level;

    pibs_server_unblock(&vcpu->server.io, vcpu_set_served_period(set, vcpu), now);
    level = vcpu_set_io_level(set, vcpu);
    if (level > vcpu->level) { /* no thread waited for it, so that its period may be the same */
        pibs_server_raise(&vcpu->server.io, now);
    }
    return level != vcpu->level;
}

/* Unblocks the VCPU's server. Returns true if the VCPU has another level now. */
static bool unblock_server(const struct vcpu_set *set, struct vcpu *vcpu, uint64_t now)
{
    if (vcpu->server.is_io) {
        return unblock_io_server(set, vcpu, now);
    }
    sporadic_server_unblock(&vcpu->server.main, now);
    return false;
}

/* Begins a span in which `executed` ticks have passed already. Returns true if the VCPU has budget.
 */
static inline bool begin_late(struct vcpu *vcpu, uint64_t executed, uint64_t now)
{
    if (vcpu_server_eligible(&vcpu->server) > now) {
        vcpu->span = 0;
        vcpu->left = 0;
        return settle(vcpu, executed, now) <= now;
    }
    begin_span(vcpu, now);
    if (executed < vcpu->span) {
        vcpu->left -= executed;
        return true;
    }
    vcpu->left = vcpu->span;
    return settle(vcpu, executed, now) <= now;
}

/* Counts a thread that executes on the VCPU's budget and becomes runnable, and has had work since
 * `since`, but not before the VCPU blocked. Returns true if the VCPU has changed. */
static bool add_runnable(struct policy *policy, struct vcpu *vcpu, uint64_t now, uint64_t since)
{
    /* The work of the kernel for it since it blocked counts as executed just before. */
    uint64_t work = vcpu->span - vcpu->left;
    bool moved;

    vcpu->runnable++;
    if (vcpu->runnable > 1) {
        return false;
    }
    if (since < vcpu->blocked_at) {
        since = vcpu->blocked_at;
    }
    vcpu->wanted_since = since;
    demand_add(&policy->demand, vcpu->level);
    trace_vcpu_runnable(vcpu->id);
    moved = unblock_server(&policy->vcpus, vcpu, since < now - work ? since : now - work);
    if (begin_late(vcpu, work, now) && vcpu->has_budget && !moved) {
        return false;
    }
    mark_changed(policy, vcpu);
    return true;
}

/* Counts the owner of a mutex that executes on a waiter's budget from now on. If the waiter's VCPU
 * has blocked by this wait, at this instant, its server was in use throughout: the rest of the
 * budget keeps its time, so that it returns with the part that was used before. A new time would be
 * later by as long as more urgent VCPUs had delayed the job, and the next job would find only that
 * part. The server of an I/O VCPU has no parts. */
static void add_borrower(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    if (vcpu->runnable != 0 || vcpu->blocked_at != now || vcpu->server.is_io) {
        (void)add_runnable(policy, vcpu, now, now);
        return;
    }
    vcpu->runnable++;
    demand_add(&policy->demand, vcpu->level);
    trace_vcpu_runnable(vcpu->id);
    if (!begin_late(vcpu, vcpu->span - vcpu->left, now) || !vcpu->has_budget) {
        mark_changed(policy, vcpu);
    }
}

/* Records the time at which a VCPU with runnable threads gets budget again; POLICY_NEVER: it has
 * budget. */
static void await_replenishment(struct policy *policy, const struct vcpu *vcpu, uint64_t time)
{
    tournament_set(&policy->replenishments, (unsigned)vcpu->id - 1, time);
}

/* The VCPU has used its budget up, or its threads have blocked. Its response is the time from which
 * on it had a runnable thread and budget, as in schedule/admission.h. */
static inline void end_response(const struct vcpu *vcpu, uint64_t now)
{
    uint64_t response = now - vcpu->wanted_since;

    if (response > vcpu->record->response_max) {
        vcpu->record->response_max = response;
    }
}

/* Counts a thread that executes on the VCPU's budget and blocks; NULL: it uses no budget. */
static void remove_runnable(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    if (vcpu == NULL) {
        return;
    }
    vcpu->runnable--;
    if (vcpu->runnable > 0) {
        return;
    }
    trace_vcpu_blocked(vcpu->id);
    demand_remove(&policy->demand, vcpu->level);
    if (vcpu->has_budget) {
        end_response(vcpu, now);
    } else {
        await_replenishment(policy, vcpu, POLICY_NEVER);
    }
    charge_server(vcpu, 0);
    vcpu_server_block(&vcpu->server, now);
    vcpu->blocked_at = now;
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

/* Counts a thread of a Main VCPU that starts to wait for the work of an I/O VCPU, and makes the I/O
 * VCPU serve the period of the Main VCPU if it is shorter than the one it serves. */
static void request_service(struct policy *policy, const struct thread *thread, uint64_t now)
{
    struct vcpu *service = thread->standing.service;
    const struct vcpu *client = thread->standing.bound;

    if (service == NULL || client == NULL) {
        return;
    }
    service->waiting[client->id - 1]++;
    if (service->runnable > 0) {
        bool has_budget = settle(service, 0, now) <= now;

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
                    uint64_t now, uint64_t since)
{
    struct vcpu *vcpu = thread->standing.charged;

    if (thread->standing.service != NULL) {
        withdraw_request(thread);
        thread->standing.service = NULL;
    }
    run_queue_add(&policy->run_queue, group_of(vcpu), thread);
    if (vcpu != NULL && add_runnable(policy, vcpu, now, since)) {
        return true;
    }
    return running == NULL || thread_urgency(thread) > thread_urgency(running);
}

void policy_block(struct policy *policy, struct thread *thread, uint64_t now)
{
    run_queue_remove(&policy->run_queue, group_of(thread->standing.charged), thread);
    remove_runnable(policy, thread->standing.charged, now);
    request_service(policy, thread, now);
}

/* Moves the VCPU's threads to its level. Those that wait for nothing and hold no mutex have their
 * new urgency then: they neither borrow nor lend, so that this changes no other thread. Returns
 * true if that are all. */
static inline bool change_level(struct policy *policy, struct vcpu *vcpu)
{
    unsigned level = level_of(vcpu);
    bool all = true;

    run_queue_set_level(&policy->run_queue, &vcpu->group, level);
    LIST_FOR_EACH(node, &vcpu->threads)
    {
        struct thread *thread = CONTAINER_OF(node, struct thread, standing.bound_node);

        if (thread_stands_alone(thread)) {
            thread->standing.urgency =
                urgency_make(level, urgency_priority(thread_urgency(thread)));
        } else {
            all = false;
        }
    }
    return all;
}

static void count_exhaustion(const struct vcpu *vcpu)
{
    vcpu->record->exhaustions++;
    trace_vcpu_exhausted(vcpu->id);
}

/* The VCPU pays for an end of its budget and the return. Not inline, because it seldom has to.
 * Returns the time of the return, which is later now. */
__attribute__((noinline)) static uint64_t charge_end(const struct policy *policy, struct vcpu *vcpu)
{
    vcpu_server_charge(&vcpu->server, policy->end_cost);
    return vcpu_server_eligible(&vcpu->server);
}

/* Counts an end of the budget. It is free if the VCPU has received most of a budget since the last
 * one that was, so that at most four ends in three periods are, however it splits its budget. For
 * the others the VCPU pays. `replenished_at`: the time of the return. Returns this time, which may
 * be later now. */
static inline uint64_t end_budget(const struct policy *policy, struct vcpu *vcpu,
                                  uint64_t replenished_at)
{
    count_exhaustion(vcpu);
    if (vcpu->record->received < vcpu->free_end_at) {
        return charge_end(policy, vcpu);
    }
    vcpu->free_end_at = vcpu->record->received + vcpu->most;
    return replenished_at;
}

/* The budget of a VCPU with runnable threads has ended. */
static void exhaust(struct policy *policy, struct vcpu *vcpu, uint64_t replenished_at, uint64_t now)
{
    uint64_t time = end_budget(policy, vcpu, replenished_at);

    end_response(vcpu, now);
    vcpu->has_budget = false;
    await_replenishment(policy, vcpu, time);
    if (!change_level(policy, vcpu)) {
        mark_changed(policy, vcpu);
    }
}

/* The VCPU executes without budget, or reaches its server's next event. Not inline, because most
 * charges don't get here, and would pay for the registers that it saves. */
__attribute__((noinline)) static void charge_beyond(struct policy *policy, struct vcpu *vcpu,
                                                    uint64_t ticks, uint64_t now)
{
    uint64_t eligible;

    if (!vcpu->has_budget) {
        vcpu->record->background += ticks;
        return;
    }
    eligible = settle(vcpu, ticks, now);
    if (eligible > now) {
        exhaust(policy, vcpu, eligible, now);
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

void policy_charge_work_beyond(struct policy *policy, struct vcpu *payer,
                               const struct thread *running, uint64_t ticks, uint64_t now)
{
    /* A replenishment that is due takes effect at the next decision, which a thread that has
     * disabled preemption delays. Callbacks that the VCPU may make until then use it up. */
    bool is_without_budget = !payer->has_budget && vcpu_server_eligible(&payer->server) > now;

    if (is_without_budget && urgency_level(thread_urgency(running)) == URGENCY_BACKGROUND) {
        payer->record->background += ticks;
    } else if (payer->runnable == 0) {
        payer->span += ticks;
    } else if (!payer->has_budget) {
        charge_server(payer, ticks);
        mark_changed(policy, payer); /* its replenishment comes later now */
    } else {
        uint64_t eligible = settle(payer, ticks, now);

        if (eligible > now) {
            (void)end_budget(policy, payer, eligible);
            mark_changed(policy, payer);
        }
    }
}

/* Charges a VCPU without runnable threads for the kernel's work, as if it had executed just before
 * `now`. */
static void charge_blocked(const struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    uint64_t work = vcpu->span - vcpu->left;

    if (work != 0) {
        (void)unblock_server(&policy->vcpus, vcpu, now - work);
        charge_server(vcpu, 0);
        vcpu_server_block(&vcpu->server, now);
        vcpu->blocked_at = now;
    }
}

uint64_t policy_resumes(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    if (vcpu->runnable == 0) {
        charge_blocked(policy, vcpu, now);
        return vcpu_server_resumes(&vcpu->server);
    }
    return vcpu->has_budget ? now : vcpu_server_eligible(&vcpu->server);
}

/* Gives the threads of a VCPU its level, and others what they inherit from these. Returns true if
 * other VCPUs may have changed by this, because loans began or ended. */
static bool pass_on_level(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    if (change_level(policy, vcpu)) {
        return false;
    }
    LIST_FOR_EACH(node, &vcpu->threads)
    {
        scheduler_update_urgency(CONTAINER_OF(node, struct thread, standing.bound_node), now);
    }
    return true;
}

/* An I/O VCPU has the level of the VCPU that it serves. */
static void update_io_level(struct policy *policy, struct vcpu *vcpu)
{
    unsigned level = vcpu_set_io_level(&policy->vcpus, vcpu);

    if (vcpu->runnable > 0) {
        demand_remove(&policy->demand, vcpu->level);
        demand_add(&policy->demand, level);
    }
    vcpu->level = level;
}

/* Brings all that depends on the VCPU's server up to date. */
static inline void update(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    uint64_t eligible = settle(vcpu, 0, now);
    bool had_budget = vcpu->has_budget;

    vcpu->has_budget = eligible <= now;
    if (vcpu->has_budget && !had_budget) {
        if (eligible > vcpu->wanted_since) {
            vcpu->wanted_since = eligible;
        }
        trace_vcpu_replenished(vcpu->id, vcpu->span);
    } else if (had_budget && !vcpu->has_budget && vcpu->runnable > 0) {
        end_response(vcpu, now);
    }
    await_replenishment(policy, vcpu,
                        vcpu->runnable > 0 && !vcpu->has_budget ? eligible : POLICY_NEVER);
    if (vcpu->server.is_io) {
        update_io_level(policy, vcpu);
    }
    (void)pass_on_level(policy, vcpu, now); /* update_changed() goes on until no VCPU has changed */
}

/* Updates the VCPUs that have changed. A loan may end or begin by this, and change the VCPU of the
 * lender. Each VCPU changes a bounded number of times, because no time passes. Not inline, because
 * most decisions find nothing to do here. */
__attribute__((noinline)) static void update_changed(struct policy *policy, uint64_t now)
{
    while (policy->changed != 0) {
        uint32_t changed = policy->changed;

        policy->changed = 0;
        for (; changed != 0; changed &= changed - 1) {
            update(policy, policy->vcpus.vcpu[__builtin_ctz(changed)], now);
        }
    }
}

/* The earliest replenishment is due. Its VCPU has runnable threads, and has used no time since it
 * had budget. Not inline either. */
__attribute__((noinline)) static void replenish_earliest(struct policy *policy, uint64_t now)
{
    unsigned place = tournament_winner(&policy->replenishments);
    struct vcpu *vcpu = policy->vcpus.vcpu[place];

    vcpu->wanted_since = tournament_earliest(&policy->replenishments);
    tournament_set(&policy->replenishments, place, POLICY_NEVER);
    begin_span(vcpu, now);
    vcpu->has_budget = true;
    trace_vcpu_replenished(vcpu->id, vcpu->span);
    if (vcpu->server.is_io) {
        update_io_level(policy, vcpu);
    }
    if (pass_on_level(policy, vcpu, now)) {
        update_changed(policy, now);
    }
}

/* Returns true if a replenishment can change the choice now. Those of VCPUs that are less urgent
 * than one with budget wait until that one blocks or has used its budget up. */
static bool replenishment_matters(const struct policy *policy)
{
    return demand_exceeds(&policy->demand, policy->run_queue.levels);
}

struct thread *policy_choose(struct policy *policy, uint64_t now)
{
    if (policy->changed != 0) { /* first, because a budget can have ended */
        update_changed(policy, now);
    }
    while (tournament_earliest(&policy->replenishments) <= now && replenishment_matters(policy)) {
        replenish_earliest(policy, now);
    }
    return run_queue_pick(&policy->run_queue);
}

uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now)
{
    const struct vcpu *vcpu = running->standing.charged;
    uint64_t end = vcpu != NULL && vcpu->has_budget ? now + vcpu->left : POLICY_NEVER;
    uint64_t replenishment = tournament_earliest(&policy->replenishments);

    return replenishment < end && replenishment_matters(policy) ? replenishment : end;
}

void policy_yield(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)now;
    run_queue_yield(&policy->run_queue, group_of(thread->standing.charged), thread);
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
    unsigned level = vcpu == NULL ? URGENCY_BACKGROUND : level_of(vcpu);

    return urgency_make(level, thread->standing.priority);
}

unsigned policy_wake_urgency(const struct policy *policy, const struct thread *thread)
{
    const struct vcpu *vcpu = thread->standing.bound;
    unsigned level = URGENCY_BACKGROUND;

    if (vcpu != NULL) { /* it may have budget again */
        level = vcpu->server.is_io ? vcpu_set_wake_level(&policy->vcpus, vcpu) : vcpu->level;
    }
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
        remove_runnable(policy, before, now);
        if (thread->standing.charged != NULL) {
            add_borrower(policy, thread->standing.charged, now);
        }
    }
    run_queue_move(&policy->run_queue, thread, group_of(before), group_of(thread->standing.charged),
                   urgency);
}

bool policy_set_service(struct thread *thread, const struct thread *server)
{
    struct vcpu *service = server == NULL ? NULL : server->standing.bound;

    if (service != NULL && !service->server.is_io) {
        service = NULL;
    }
    thread->standing.service = service;
    return service != NULL;
}

uint32_t policy_user_bit(const struct thread *thread)
{
    return thread->standing.bound == NULL ? 0 : bit_of(thread->standing.bound);
}

void policy_note_blocking(struct policy *policy, uint32_t users, uint64_t ticks)
{
    while (users != 0) {
        struct vcpu *vcpu = policy->vcpus.vcpu[__builtin_ctz(users)];

        if (vcpu != NULL && ticks > vcpu->record->blocking_max) {
            vcpu->record->blocking_max = ticks;
        }
        users &= users - 1;
    }
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
    charge_server(vcpu, 0);
    (void)vcpu_server_set_parameters(&vcpu->server, budget, period, now);
    vcpu->most = vcpu_server_most(&vcpu->server);
    vcpu->free_end_at = 0;
}

void policy_rank(struct policy *policy)
{
    vcpu_set_rank(&policy->vcpus);
    policy->demand = (struct demand){.levels = 0};
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        struct vcpu *vcpu = policy->vcpus.vcpu[i];

        if (vcpu != NULL) {
            mark_changed(policy, vcpu);
            if (vcpu->runnable > 0) {
                demand_add(&policy->demand, vcpu->level);
            }
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
    policy->changed &= ~bit_of(vcpu);
    vcpu_set_remove(&policy->vcpus, vcpu);
    policy_rank(policy);
}
