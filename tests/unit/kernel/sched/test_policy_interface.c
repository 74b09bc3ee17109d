/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between the kernel and its scheduling policy (sched/policy.h), seen by a policy of
 * the test's own that is linked in place of the kernel's: threads take turns of SLICE ticks. It
 * shows that a policy that lives by time needs no change elsewhere, and checks the promises that
 * the kernel makes to a policy.
 */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include "sched/core.h"
#include "sched/policy.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include <stdio.h>

#define SLICE   UINT64_C(100)
#define THREADS 16u

static struct turns {
    struct list ready; /* without the idle thread */
    struct thread *idle;
    bool runnable[THREADS]; /* by the thread's number */
    uint64_t now;           /* of the latest call */
    uint64_t charged;       /* to threads */
    uint64_t slice_used;    /* by the first of `ready` */
    uint64_t work_ticks;
    size_t admitted;
    struct vcpu account[THREADS]; /* by the thread's number; has no budget, so that each charge of
                                   * the kernel's work comes here */
    const struct vcpu *work_for;
    uint64_t longest_turn;
} turns;

static void set_now(uint64_t now)
{
    CHECK(now >= turns.now);
    turns.now = now;
}

void policy_init(struct policy *policy)
{
    (void)policy;
    turns = (struct turns){.idle = NULL};
    list_init(&turns.ready);
}

void policy_admit(struct policy *policy, struct thread *thread, unsigned priority)
{
    (void)policy;
    thread->standing = (struct standing){
        .priority = priority, .urgency = priority, .charged = &turns.account[turns.admitted]};
    turns.admitted++;
}

void policy_dismiss(struct thread *thread)
{
    CHECK(!turns.runnable[thread->number]);
}

static void set_runnable(const struct thread *thread, bool runnable)
{
    CHECK(thread->number < THREADS);
    CHECK(turns.runnable[thread->number] != runnable);
    turns.runnable[thread->number] = runnable;
}

bool policy_unblock(struct policy *policy, struct thread *thread, const struct thread *running,
                    uint64_t now, uint64_t since)
{
    (void)policy;
    CHECK(since <= now);
    set_now(now);
    set_runnable(thread, true);
    if (thread->standing.priority == THREAD_PRIORITY_IDLE) {
        turns.idle = thread;
        return false;
    }
    list_push_back(&turns.ready, &thread->queue_node);
    return running != NULL; /* the turn of the running thread may have an end now */
}

void policy_block(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)policy;
    set_now(now);
    set_runnable(thread, false);
    CHECK(list_first(&turns.ready) == &thread->queue_node);
    list_remove(&thread->queue_node);
    turns.slice_used = 0;
}

void policy_charge(struct policy *policy, struct thread *thread, uint64_t ticks, uint64_t now)
{
    (void)policy;
    set_now(now);
    turns.charged += ticks;
    if (thread != turns.idle) {
        CHECK(list_first(&turns.ready) == &thread->queue_node);
        turns.slice_used += ticks;
        turns.longest_turn =
            turns.slice_used > turns.longest_turn ? turns.slice_used : turns.longest_turn;
    }
}

void policy_charge_work_beyond(struct policy *policy, struct vcpu *payer,
                               const struct thread *running, uint64_t ticks, uint64_t now)
{
    (void)policy;
    (void)running;
    set_now(now);
    turns.work_ticks += ticks;
    turns.work_for = payer;
}

uint64_t policy_resumes(struct policy *policy, struct vcpu *vcpu, uint64_t now)
{
    (void)policy;
    (void)vcpu;
    return now;
}

struct thread *policy_choose(struct policy *policy, uint64_t now)
{
    struct list_node *first = list_first(&turns.ready);

    (void)policy;
    set_now(now);
    if (list_is_empty(&turns.ready)) {
        return turns.idle;
    }
    if (turns.slice_used >= SLICE) {
        list_remove(first);
        list_push_back(&turns.ready, first);
        turns.slice_used = 0;
        first = list_first(&turns.ready);
    }
    return CONTAINER_OF(first, struct thread, queue_node);
}

uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now)
{
    (void)policy;
    set_now(now);
    return running == turns.idle ? POLICY_NEVER : now + SLICE - turns.slice_used;
}

void policy_yield(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)policy;
    (void)thread;
    set_now(now);
    turns.slice_used = SLICE;
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
    return thread->standing.priority;
}

unsigned policy_wake_urgency(const struct policy *policy, const struct thread *thread)
{
    (void)policy;
    return thread->standing.priority;
}

bool policy_has_loan(const struct thread *thread, const struct thread *waiter)
{
    return thread->standing.urgency ==
           (waiter == NULL ? thread->standing.priority : waiter->standing.urgency);
}

bool policy_set_service(struct thread *thread, const struct thread *server)
{
    (void)thread;
    (void)server;
    return false;
}

void policy_lend(struct policy *policy, struct thread *thread, const struct thread *waiter,
                 uint64_t now)
{
    (void)policy;
    set_now(now);
    thread->standing.urgency =
        waiter == NULL ? thread->standing.priority : waiter->standing.urgency;
}

uint32_t policy_user_bit(const struct thread *thread)
{
    (void)thread;
    return 0;
}

void policy_note_blocking(struct policy *policy, uint32_t users, uint64_t ticks)
{
    (void)policy;
    (void)users;
    (void)ticks;
}

void policy_count_miss(struct thread *thread)
{
    (void)thread;
}

bool policy_is_alone(const struct policy *policy, const struct thread *running)
{
    (void)policy;
    (void)running;
    return turns.ready.head.next == turns.ready.head.previous;
}

/* Runs for three turns and notes when each begins. */
static void take_turns(void *name)
{
    for (unsigned used = 0; used < 3 * SLICE; used += 10) {
        if (used % SLICE == 0) {
            char word[32];

            (void)snprintf(word, sizeof(word), "%s%llu", (const char *)name,
                           (unsigned long long)time_now());
            note(word);
        }
        host_clock_advance(10);
    }
}

static void init_turns(void)
{
    struct thread *a = start("a", INIT_PRIORITY, take_turns, "a");
    struct thread *b = start("b", INIT_PRIORITY, take_turns, "b");

    finish(a);
    finish(b);
    CHECK_NOTES("a0 b100 a200 b300 a400 b500");
    CHECK_EQUAL(turns.charged, 600);
    CHECK_EQUAL(turns.longest_turn, SLICE);
}

static void test_alarm_ends_a_turn(void **state)
{
    (void)state;
    kernel_run(init_turns);
}

static void hold_the_processor(void *argument)
{
    (void)argument;
    scheduler_preemption_disable();
    host_clock_advance(2 * SLICE + 50);
    note("held");
    scheduler_preemption_enable();
    note("after");
}

static void note_argument(void *argument)
{
    note(argument);
}

static void init_late(void)
{
    struct thread *holder = start("holder", INIT_PRIORITY, hold_the_processor, NULL);
    struct thread *next = start("next", INIT_PRIORITY, note_argument, "next");

    finish(holder);
    finish(next);
    CHECK_NOTES("held next after");
    CHECK_EQUAL(turns.longest_turn, 2 * SLICE + 50);
}

static void test_turn_that_cannot_end_is_charged_late(void **state)
{
    (void)state;
    kernel_run(init_late);
}

static void work_and_post(void *semaphore)
{
    host_clock_advance(7);
    (void)semaphore_post(semaphore);
    host_clock_advance(4);
}

static void wait_for_post(void *semaphore)
{
    CHECK_EQUAL(semaphore_wait(semaphore, DEADLINE_NONE), RESULT_OK);
}

static void work(void *argument)
{
    (void)argument;
    host_clock_advance(5);
}

static void init_interrupts(void)
{
    struct semaphore semaphore;

    semaphore_init(&semaphore, 0, 1);
    struct thread *waiter = start("waiter", INIT_PRIORITY, wait_for_post, &semaphore);

    thread_yield();
    turns.work_for = NULL;
    host_interrupt(work, NULL);
    CHECK_EQUAL(core_this()->vcpu_report.unpaid, 5);
    CHECK(turns.work_for == NULL);
    host_interrupt(work_and_post, &semaphore);
    CHECK_EQUAL(turns.work_ticks, 11);
    CHECK(turns.work_for == thread_payer(waiter));
    CHECK_EQUAL(turns.charged, 0);
    host_clock_advance(20);
    finish(waiter);
    CHECK_EQUAL(turns.charged, 20);
}

static void test_interrupts_are_charged_to_the_thread_they_wake(void **state)
{
    (void)state;
    kernel_run(init_interrupts);
}

static void init_timer_and_decision(void)
{
    uint64_t alarm;

    host_clock_advance(30);
    thread_yield();
    CHECK(host_clock_alarm(&alarm));
    CHECK_EQUAL(alarm, 30 + SLICE);
    thread_sleep_until(50); /* the idle thread has no turn: only the timer counts */
    CHECK_EQUAL(time_now(), 50);
    CHECK(host_clock_alarm(&alarm));
    CHECK_EQUAL(alarm, 50 + SLICE);
}

static void test_alarm_is_the_earlier_of_timer_and_decision(void **state)
{
    (void)state;
    kernel_run(init_timer_and_decision);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alarm_ends_a_turn),
        cmocka_unit_test(test_turn_that_cannot_end_is_charged_late),
        cmocka_unit_test(test_interrupts_are_charged_to_the_thread_they_wake),
        cmocka_unit_test(test_alarm_is_the_earlier_of_timer_and_decision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
