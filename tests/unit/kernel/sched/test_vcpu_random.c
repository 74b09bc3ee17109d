/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads on VCPUs that execute, sleep, lock mutexes, move between VCPUs and are interrupted at
 * random. After each step the policy's state is compared with what follows from the states of the
 * threads, and at the end the most urgent VCPU has received all of its guarantee, and no response
 * is longer than that of the analysis.
 */
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"
#include "schedule/admission.h"
#include <string.h>

#define WORKERS 12u
#define MUTEXES 3u
#define VCPUS   6u
#define SEEDS   300u
#define END     UINT64_C(20000)

/* The spinning thread's VCPU has the shortest period, and so the highest priority. */
#define TOP_BUDGET 3u
#define TOP_PERIOD 20u

static uint64_t seed;
static struct mutex mutexes[MUTEXES];
static struct thread *workers[WORKERS];
static int vcpus[VCPUS];
static struct semaphore interrupts;

static const struct {
    enum vcpu_policy policy;
    uint64_t budget;
    uint64_t period;
} parameters[VCPUS] = {
    {SCHED_SPORADIC, 5, 50},   {SCHED_SPORADIC, 20, 100}, {SCHED_SPORADIC, 10, 100},
    {SCHED_SPORADIC, 30, 400}, {SCHED_PIBS, 5, 100},      {SCHED_PIBS, 2, 100},
};

static unsigned chance(unsigned limit)
{
    return (unsigned)random_below(&seed, limit);
}

/* Returns the most urgent of the thread and of the waiters for its mutexes. */
static unsigned expected_urgency(const struct thread *thread)
{
    unsigned urgency = policy_own_urgency(thread);

    LIST_FOR_EACH(node, &thread->held_mutexes)
    {
        const struct mutex *mutex = CONTAINER_OF(node, struct mutex, owned);

        LIST_FOR_EACH(waiting, &mutex->waiters.waiters)
        {
            const struct thread *waiter = CONTAINER_OF(waiting, struct thread, queue_node);

            urgency = thread_urgency(waiter) > urgency ? thread_urgency(waiter) : urgency;
        }
    }
    return urgency;
}

static unsigned count_runnable(const struct vcpu *vcpu)
{
    unsigned count = 0;

    LIST_FOR_EACH(node, &core_this()->threads)
    {
        const struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        count += thread_is_runnable(thread) && thread->standing.charged == vcpu ? 1 : 0;
    }
    return count;
}

static void check_vcpu(const struct vcpu *vcpu)
{
    const struct policy *policy = &core_this()->policy;

    CHECK_EQUAL(vcpu->runnable, count_runnable(vcpu));
    if ((policy->changed & UINT32_C(1) << (vcpu->id - 1)) == 0) {
        const struct tournament *replenishments = &policy->replenishments;

        CHECK_EQUAL(tournament_at(replenishments, (unsigned)vcpu->id - 1),
                    vcpu->runnable > 0 && !vcpu->has_budget ? vcpu_server_eligible(&vcpu->server)
                                                            : POLICY_NEVER);
    }
}

/* The levels with runnable threads follow from the VCPUs. */
static void check_demand(const struct policy *policy)
{
    struct demand expected = {.levels = 0};

    for (int id = 1; id <= (int)VCPU_MAX; id++) {
        const struct vcpu *vcpu = vcpu_set_find(&policy->vcpus, id);

        if (vcpu != NULL && vcpu->runnable > 0) {
            demand_add(&expected, vcpu->level);
        }
    }
    CHECK_EQUAL(policy->demand.levels, expected.levels);
    CHECK_EQUAL(memcmp(policy->demand.vcpus, expected.vcpus, sizeof(expected.vcpus)), 0);
}

/* The urgency of a thread follows from the VCPUs, and the first in the run queue is the most
 * urgent. A thread that lends or borrows gets the level of a changed VCPU at the next choice. */
static void check_urgency(const struct policy *policy, const struct thread *thread)
{
    const struct thread *first = run_queue_pick(&policy->run_queue);

    if (thread->state == THREAD_FINISHED || policy->changed != 0) {
        return;
    }
    CHECK_EQUAL(thread_urgency(thread), expected_urgency(thread));
    CHECK(!thread_is_runnable(thread) || thread_urgency(thread) <= thread_urgency(first));
}

static void check_state(void)
{
    interrupt_state state = interrupts_save();
    const struct core *core = core_this();

    for (int id = 1; id <= (int)VCPU_MAX; id++) {
        const struct vcpu *vcpu = vcpu_set_find(&core->policy.vcpus, id);

        if (vcpu != NULL) {
            check_vcpu(vcpu);
        }
    }
    check_demand(&core->policy);
    LIST_FOR_EACH(node, &core->threads)
    {
        check_urgency(&core->policy, CONTAINER_OF(node, struct thread, all_node));
    }
    interrupts_restore(state);
}

static void execute(unsigned ticks)
{
    for (unsigned i = 0; i < ticks; i++) {
        host_clock_advance(1);
    }
}

static void execute_and_post(void *argument)
{
    (void)argument;
    host_clock_advance(1);
    (void)semaphore_post(&interrupts);
}

static void move_a_thread(void)
{
    int id = chance(4) == 0 ? 0 : vcpus[chance(VCPUS)];

    CHECK_EQUAL(vcpu_bind_thread(workers[chance(WORKERS)], id), 0);
}

/* Locks mutexes in ascending order, so that there is no deadlock. */
static void lock_and_execute(unsigned first)
{
    struct mutex *mutex = &mutexes[first];

    if (mutex_lock(mutex, chance(3) == 0 ? time_after(chance(60)) : DEADLINE_NONE) != RESULT_OK) {
        return;
    }
    execute(chance(8));
    if (first + 1 < MUTEXES && chance(2) == 0) {
        lock_and_execute(first + 1);
    }
    if (chance(8) == 0) {
        thread_sleep_until(time_after(chance(30)));
    }
    check_state();
    CHECK_EQUAL(mutex_unlock(mutex), RESULT_OK);
}

static void step(void)
{
    switch (chance(8)) {
    case 0:
        lock_and_execute(chance(MUTEXES));
        break;
    case 1:
        host_interrupt(execute_and_post, NULL);
        break;
    case 2:
        (void)vcpu_request_service(workers[chance(WORKERS)]);
        (void)semaphore_wait(&interrupts, time_after(chance(80)));
        (void)vcpu_request_service(NULL);
        break;
    case 3:
        move_a_thread();
        break;
    case 4:
        (void)thread_set_priority(workers[chance(WORKERS)], 10 + chance(5));
        break;
    case 5:
        thread_yield();
        break;
    default:
        thread_sleep_until(time_after(chance(100)));
    }
    execute(chance(20));
    check_state();
}

static void work(void *argument)
{
    (void)argument;
    thread_sleep_until(1); /* until all threads exist */
    while (time_now() < END) {
        step();
    }
}

static void spin(void *executed)
{
    while (time_now() < END) {
        *(uint64_t *)executed += 1;
        host_clock_advance(1);
    }
}

/* No VCPU took longer to execute a budget than admission_test() says, although its threads wanted
 * several budgets, and waited for mutexes of less urgent threads. */
static void check_responses(int count)
{
    struct admission_vcpu set[VCPUS + 1];
    struct admission_response responses[VCPUS + 1];
    struct admission_result result;
    const struct vcpu_record *records = core_this()->vcpu_report.records;

    for (int i = 0; i < count; i++) {
        set[i] = (struct admission_vcpu){.kind = records[i].kind == VCPU_RECORD_IO ? ADMISSION_IO
                                                                                   : ADMISSION_MAIN,
                                         .budget = records[i].budget,
                                         .period = records[i].period};
    }
    CHECK_EQUAL(admission_test(set, (size_t)count, responses, &result), SCHEDULE_OK);
    for (int i = 0; i < count; i++) {
        CHECK(records[i].response_max <= responses[i].ticks);
    }
}

static void init_random(void)
{
    struct vcpu_param top = {.policy = SCHED_SPORADIC, .C = TOP_BUDGET, .T = TOP_PERIOD};
    uint64_t executed = 0;
    struct thread *spinner;

    semaphore_init(&interrupts, 0, 8);
    for (unsigned i = 0; i < MUTEXES; i++) {
        mutex_init(&mutexes[i]);
    }
    for (unsigned i = 0; i < VCPUS; i++) {
        struct vcpu_param param = {
            .policy = parameters[i].policy, .C = parameters[i].budget, .T = parameters[i].period};

        vcpus[i] = vcpu_create(&param);
        CHECK(vcpus[i] > 0);
    }
    /* This machine's is 0. With more, a VCPU executes more than it is charged for. */
    core_this()->ledger.overhead = chance(2);
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = start("worker", 10 + chance(5), work, NULL);
        CHECK_EQUAL(vcpu_bind_thread(workers[i], vcpus[i % VCPUS]), 0);
    }
    spinner = start("top", 1, spin, &executed);
    CHECK_EQUAL(vcpu_bind_thread(spinner, vcpu_create(&top)), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        finish(workers[i]);
    }
    finish(spinner);
    CHECK(executed >= END / TOP_PERIOD * TOP_BUDGET);
    if (core_this()->ledger.overhead == 0) {
        check_responses((int)VCPUS + 1);
    }
}

static void test_random_workloads(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= SEEDS; i++) {
        seed = i;
        kernel_run(init_random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_workloads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
