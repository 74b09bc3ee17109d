/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of kernel/vcpu.h: creation, parameters, binding, destruction, loans of budgets. */
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/vcpu_supply.h"
#include <arch/cpu.h>
#include <string.h>

static int create(enum vcpu_policy policy, uint64_t budget, uint64_t period)
{
    struct vcpu_param param = {.policy = policy, .C = budget, .T = period};

    return vcpu_create(&param);
}

static void init_invalid(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .mask = 2, .C = 1, .T = 10};
    struct vcpu_param no_policy = {.C = 1, .T = 10};
    const unsigned unknown = 2;

    memcpy(&no_policy.policy, &unknown, sizeof(no_policy.policy));
    CHECK(vcpu_create(&no_policy) == -RESULT_INVALID);
    CHECK(vcpu_create(NULL) == -RESULT_INVALID);
    CHECK(vcpu_create(&param) == -RESULT_INVALID);
    CHECK(create(SCHED_SPORADIC, 0, 10) == -RESULT_INVALID);
    CHECK(create(SCHED_SPORADIC, 11, 10) == -RESULT_INVALID);
    CHECK(create(SCHED_SPORADIC, 1, UINT64_MAX) == -RESULT_INVALID);
    CHECK(vcpu_setparam(NULL) == -RESULT_INVALID);
    param.mask = 1;
    param.id = 7;
    CHECK(vcpu_setparam(&param) == -RESULT_NOT_FOUND);
    CHECK(vcpu_destroy(1, false) == -RESULT_NOT_FOUND);
    CHECK(vcpu_destroy(0, true) == -RESULT_NOT_FOUND);
    CHECK(vcpu_destroy((int)VCPU_MAX + 1, true) == -RESULT_NOT_FOUND);
    CHECK(vcpu_bind_task(-1) == -RESULT_NOT_FOUND);
    CHECK(vcpu_getparam(&param) == -RESULT_NOT_FOUND);
}

static void test_invalid_arguments(void **state)
{
    (void)state;
    kernel_run(init_invalid);
}

static void init_refusal(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 30, .T = 100};

    CHECK_EQUAL(create(SCHED_SPORADIC, 40, 100), 1);
    CHECK_EQUAL(create(SCHED_SPORADIC, 5, 10), 2); /* 40 + 10 * 5 = 90 */
    CHECK(vcpu_create(&param) == -RESULT_OVERLOADED);
    CHECK_EQUAL(param.late_id, 0);
    CHECK_EQUAL(param.excess, 20);
    param = (struct vcpu_param){.policy = SCHED_SPORADIC, .C = 6, .T = 20};
    CHECK(vcpu_create(&param) == -RESULT_OVERLOADED);
    CHECK_EQUAL(param.late_id, 1);
    CHECK_EQUAL(param.excess, 20);
    param.C = 2;
    CHECK_EQUAL(vcpu_create(&param), 3);
    param.id = 3;
    param.C = 3;
    CHECK(vcpu_setparam(&param) == -RESULT_OVERLOADED);
    CHECK_EQUAL(param.late_id, 1);
    param.C = 1;
    CHECK_EQUAL(vcpu_setparam(&param), 0);
}

static void test_refusal_says_by_how_much(void **state)
{
    (void)state;
    kernel_run(init_refusal);
}

static void init_parameters(void)
{
    struct vcpu_param param = {.policy = SCHED_PIBS, .C = 7, .T = 100, .name = "net"};

    for (unsigned i = 0; i < VCPU_MAX - 1; i++) {
        CHECK_EQUAL(create(SCHED_SPORADIC, 1, 100 + i), i + 1);
    }
    CHECK_EQUAL(vcpu_create(&param), VCPU_MAX);
    CHECK(create(SCHED_SPORADIC, 1, 1000) == -RESULT_OVERFLOW);
    for (int i = 1; i <= (int)VCPU_MAX; i++) {
        CHECK_EQUAL(vcpu_getparam(&param), 0);
        CHECK_EQUAL(param.id, i);
    }
    CHECK_EQUAL(param.policy, SCHED_PIBS);
    CHECK_EQUAL(param.C, 7);
    CHECK_EQUAL(param.T, 100);
    CHECK(strcmp(param.name, "net") == 0);
    CHECK_EQUAL(vcpu_destroy(1, false), 0);
    CHECK_EQUAL(vcpu_getparam(&param), 0);
    CHECK_EQUAL(param.id, 2); /* behind the last, the first again */
    CHECK_EQUAL(create(SCHED_SPORADIC, 1, 1000), 1);
}

static void test_parameters(void **state)
{
    (void)state;
    kernel_run(init_parameters);
}

static void init_rounding(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 17, .T = 1007};

    CHECK_EQUAL(vcpu_create(&param), 1);
    CHECK_EQUAL(vcpu_getparam(&param), 0);
    CHECK_EQUAL(param.C, 32);
    CHECK_EQUAL(param.T, 992);
}

/* The budget is rounded up and the period down, to ticks of 16 ns. */
static void test_rounding(void **state)
{
    (void)state;
    host_clock_set_frequency(62500000);
    kernel_run(init_rounding);
    host_clock_set_frequency(NANOSECONDS_PER_SECOND);
}

static struct mutex mutex;
static struct semaphore semaphore;

static void wait_for_ever(void *argument)
{
    (void)argument;
    (void)semaphore_wait(&semaphore, DEADLINE_NONE);
    note("woken");
}

static void hold_mutex(void *argument)
{
    (void)argument;
    (void)mutex_lock(&mutex, DEADLINE_NONE);
    thread_sleep_until(50);
    note("unlocks");
    (void)mutex_unlock(&mutex);
    note("lives");
}

static void join(void *thread)
{
    (void)thread_join(thread, DEADLINE_NONE);
    note("joined");
}

/* Threads in every state end, but the one with the mutex ends when it unlocks it. */
static void init_force(void)
{
    int id = create(SCHED_SPORADIC, 10, 100);

    mutex_init(&mutex);
    semaphore_init(&semaphore, 0, 1);
    struct thread *waiter = start("waiter", 40, wait_for_ever, NULL);
    struct thread *holder = start("holder", 41, hold_mutex, NULL);
    struct thread *ready = start("ready", 1, wait_for_ever, NULL);
    struct thread *survivor = start("survivor", 39, wait_for_ever, NULL);
    struct thread *joiner = start("joiner", 42, join, survivor);

    CHECK_EQUAL(vcpu_bind_thread(waiter, id), 0);
    CHECK_EQUAL(vcpu_bind_thread(holder, id), 0);
    CHECK_EQUAL(vcpu_bind_thread(ready, id), 0);
    CHECK_EQUAL(vcpu_bind_thread(joiner, id), 0);
    CHECK(vcpu_destroy(id, false) == -RESULT_BUSY);
    CHECK_EQUAL(vcpu_destroy(id, true), 0);
    finish(waiter);
    finish(ready);
    finish(joiner);
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    CHECK_NOTES("unlocks");
    finish(holder);
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    finish(survivor); /* its terminated joiner has no claim on it any more */
    CHECK_NOTES("woken");
    CHECK(vcpu_bind_task(id) == -RESULT_NOT_FOUND);
}

static void test_force_terminates_threads(void **state)
{
    (void)state;
    kernel_run(init_force);
}

static void destroy_own(void *id)
{
    CHECK_EQUAL(vcpu_bind_task(*(int *)id), 0);
    note("destroys");
    (void)vcpu_destroy(*(int *)id, true);
    note("returned");
}

static void init_own(void)
{
    int id = create(SCHED_SPORADIC, 10, 100);
    struct thread *thread = start("own", 40, destroy_own, &id);

    finish(thread);
    CHECK_NOTES("destroys");
    CHECK_EQUAL(create(SCHED_SPORADIC, 100, 100), id);
}

static void test_thread_destroys_its_own_vcpu(void **state)
{
    (void)state;
    kernel_run(init_own);
}

static struct vcpu_statistics statistics_of(int id)
{
    static struct vcpu_statistics statistics[VCPU_MAX];
    size_t count = vcpu_statistics(statistics, VCPU_MAX);

    for (size_t i = 0; i < count; i++) {
        if (statistics[i].param.id == id) {
            return statistics[i];
        }
    }
    CHECK(false);
    return statistics[0];
}

static void lock_and_execute(void *argument)
{
    (void)argument;
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    note("owns");
    for (unsigned i = 0; i < 30; i++) {
        host_clock_advance(1);
    }
    CHECK_EQUAL(mutex_unlock(&mutex), RESULT_OK);
    note("unlocked");
}

static void spin(void *argument)
{
    (void)argument;
    for (;;) {
        host_clock_advance(1);
    }
}

static void lock_later(void *argument)
{
    (void)argument;
    thread_sleep_until(10);
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    note("got");
    CHECK_EQUAL(mutex_unlock(&mutex), RESULT_OK);
}

/* The owner has no budget, and would run behind `other` for ever: the waiter lends it its own. The
 * 21 ticks that the owner still needs take 15 of the waiter's period of 100, and 6 of the next. */
static void init_loan(void)
{
    int lender = create(SCHED_SPORADIC, 15, 100);
    int spinner = create(SCHED_SPORADIC, 50, 200);

    mutex_init(&mutex);
    struct thread *owner = start("owner", 5, lock_and_execute, NULL);
    struct thread *waiter = start("waiter", 6, lock_later, NULL);
    struct thread *other = start("other", 7, spin, NULL);

    CHECK_EQUAL(vcpu_bind_thread(waiter, lender), 0);
    (void)thread_set_priority(other, 1);
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    thread_sleep_until(9);
    (void)thread_set_priority(other, 7);
    CHECK_EQUAL(vcpu_bind_thread(other, spinner), 0);
    thread_sleep_until(12);
    CHECK_NOTES("owns");
    thread_sleep_until(100);
    CHECK_NOTES("");
    CHECK_EQUAL(statistics_of(lender).received_nanoseconds, 15);
    thread_sleep_until(130);
    CHECK_NOTES("got"); /* the owner is in the background again, behind `other` */
    CHECK_EQUAL(statistics_of(lender).received_nanoseconds, 21);
    /* The wait took two budgets, and each of them its own time. */
    CHECK_EQUAL(statistics_of(lender).response_nanoseconds_max, 15);
    (void)owner;
}

static void test_waiter_lends_its_budget(void **state)
{
    (void)state;
    kernel_run(init_loan);
}

/* The statistics have the response of a budget, as admission_test() has: 10 ticks here, and 20 of
 * the more urgent VCPU, whose budget returns at the same time, 100. The threads never block. */
static void init_response(void)
{
    int urgent = create(SCHED_SPORADIC, 20, 45);
    int busy = create(SCHED_SPORADIC, 10, 100);
    struct thread *busy_thread = start("busy", 1, spin, NULL);
    struct thread *urgent_thread = start("urgent", 1, spin, NULL);

    CHECK_EQUAL(vcpu_bind_thread(busy_thread, busy), 0); /* executes its budget */
    CHECK_EQUAL(time_now(), 10);
    CHECK_EQUAL(vcpu_bind_thread(urgent_thread, urgent), 0);
    thread_sleep_until(1000);
    CHECK_EQUAL(statistics_of(urgent).response_nanoseconds_max, 20);
    CHECK_EQUAL(statistics_of(busy).response_nanoseconds_max, 30);
}

static void test_response_of_a_budget(void **state)
{
    (void)state;
    kernel_run(init_response);
}

/* A processor that executes the kernel for 50 in 100 ns, with a gap of 60: a VCPU of 50 in 200
 * needs up to 110 ns, and 51 are too much in 110. */
static void init_share(void)
{
    static const struct supply supply = {.budget = 50, .period = 100, .delay = 10, .piece = 50};
    static const struct supply wrong = {.budget = 101, .period = 100, .piece = 1};
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 51, .T = 110};

    vcpu_supply_set(&supply);
    CHECK_EQUAL(vcpu_create(&param), -(int)RESULT_OVERLOADED);
    CHECK_EQUAL(param.excess, 1);
    CHECK_EQUAL(param.late_id, 0);
    param.C = 50;
    CHECK_EQUAL(vcpu_create(&param), 1);
    param.id = 1;
    param.blocking = 1;
    CHECK_EQUAL(vcpu_setparam(&param), -(int)RESULT_OVERLOADED);
    param.blocking = 0;
    CHECK_EQUAL(vcpu_setparam(&param), 0);
    CHECK_EQUAL(vcpu_destroy(1, false), 0);
    vcpu_supply_set(&wrong);
    param.C = 1;
    CHECK_EQUAL(vcpu_create(&param), -(int)RESULT_OVERLOADED);
    vcpu_supply_set(NULL);
    CHECK_EQUAL(vcpu_create(&param), 1);
    CHECK_EQUAL(vcpu_destroy(1, false), 0);
}

static void test_share_of_a_processor(void **state)
{
    (void)state;
    kernel_run(init_share);
}

/* The blocking of a VCPU delays it, and no other one. */
static void init_blocking(void)
{
    struct vcpu_param first = {.policy = SCHED_SPORADIC, .C = 50, .T = 100, .blocking = 51};
    struct vcpu_param second = {.policy = SCHED_SPORADIC, .C = 50, .T = 100};

    CHECK_EQUAL(vcpu_create(&first), -(int)RESULT_OVERLOADED);
    CHECK_EQUAL(first.excess, 1);
    first.blocking = 101;
    CHECK_EQUAL(vcpu_create(&first), -(int)RESULT_INVALID);
    first.blocking = 50;
    CHECK_EQUAL(vcpu_create(&first), 1);
    CHECK_EQUAL(vcpu_create(&second), 2);
    second = (struct vcpu_param){.policy = SCHED_SPORADIC, .C = 1, .T = 50};
    CHECK_EQUAL(vcpu_create(&second), -(int)RESULT_OVERLOADED);
    CHECK_EQUAL(second.late_id, 1);
}

static void test_blocking(void **state)
{
    (void)state;
    kernel_run(init_blocking);
}

static struct mutex shared;

static void lock_for(uint64_t ticks)
{
    CHECK_EQUAL(mutex_lock(&shared, DEADLINE_NONE), RESULT_OK);
    host_clock_advance(ticks);
    CHECK_EQUAL(mutex_unlock(&shared), RESULT_OK);
}

static void lock_as(int id, uint64_t ticks)
{
    CHECK_EQUAL(vcpu_bind_task(id), 0);
    lock_for(ticks);
}

/* Each VCPU knows the longest critical section of the others, in whatever order they come. */
static void init_critical_sections(void)
{
    int one = create(SCHED_SPORADIC, 1000, 10000);
    int other = create(SCHED_SPORADIC, 1000, 20000);

    mutex_init(&shared);
    lock_as(one, 3);
    CHECK_EQUAL(statistics_of(one).blocking_nanoseconds_max, 0);
    lock_as(other, 7);
    CHECK_EQUAL(statistics_of(one).blocking_nanoseconds_max, 7);
    CHECK_EQUAL(statistics_of(other).blocking_nanoseconds_max, 0);
    lock_as(one, 4);
    CHECK_EQUAL(statistics_of(other).blocking_nanoseconds_max, 4);
    lock_as(0, 5);
    CHECK_EQUAL(statistics_of(one).blocking_nanoseconds_max, 7);
    CHECK_EQUAL(statistics_of(other).blocking_nanoseconds_max, 5);
    lock_as(0, 9);
    CHECK_EQUAL(statistics_of(one).blocking_nanoseconds_max, 9);
    CHECK_EQUAL(statistics_of(other).blocking_nanoseconds_max, 9);
}

static void test_critical_sections(void **state)
{
    (void)state;
    kernel_run(init_critical_sections);
}

/* Returns how often the counter is read for a critical section. */
static uint64_t readings_of_a_section(void)
{
    uint64_t before;
    uint64_t readings;

    host_clock_set_reading_ticks(1);
    before = arch_clock_ticks();
    lock_for(0);
    readings = arch_clock_ticks() - before - 1;
    host_clock_set_reading_ticks(0);
    return readings;
}

/* A critical section is measured once a thread of a VCPU has locked the mutex, whoever locks it
 * then. */
static void init_unmeasured_sections(void)
{
    int one = create(SCHED_SPORADIC, 1000, 10000);

    mutex_init(&shared);
    CHECK_EQUAL(readings_of_a_section(), 0);
    lock_as(one, 3);
    CHECK_EQUAL(vcpu_bind_task(0), 0);
    CHECK_EQUAL(readings_of_a_section(), 2);
    CHECK_EQUAL(statistics_of(one).blocking_nanoseconds_max, 1);
}

static void test_unmeasured_sections(void **state)
{
    (void)state;
    kernel_run(init_unmeasured_sections);
}

static void init_whole(void)
{
    static const struct guest_costs costs = {.enter = 30, .leave = 20, .end = 30, .early = 1};
    static const struct guest_costs high = {.end = SCHEDULE_PERIOD_MAX};
    struct vcpu_param first = {.policy = SCHED_SPORADIC, .C = 500, .T = 1000};
    struct vcpu_param second = {.policy = SCHED_SPORADIC, .C = 1000, .T = 2000};

    host_clock_set_reading_ticks(1);
    CHECK_EQUAL(vcpu_create(&first), 1);
    CHECK_EQUAL(vcpu_create(&second), 2);
    host_clock_set_reading_ticks(0);
    vcpu_costs_set(&costs);
    CHECK_EQUAL(vcpu_destroy(2, false), 0);
    CHECK_EQUAL(vcpu_create(&second), -(int)RESULT_OVERLOADED);
    /* In 2,000, the first one takes 2 * (500 + 40) + 30 + 20, and a change takes 20. */
    CHECK_EQUAL(second.excess, 150);
    second.C = 850;
    CHECK_EQUAL(vcpu_create(&second), 2);
    first = (struct vcpu_param){.policy = SCHED_SPORADIC, .C = 119, .T = 100000};
    CHECK_EQUAL(vcpu_create(&first), -(int)RESULT_TOO_SMALL);
    CHECK_EQUAL(first.least, 120);
    first.C = 1000;
    vcpu_costs_set(&high);
    CHECK_EQUAL(vcpu_create(&first), -(int)RESULT_TOO_SMALL);
    vcpu_costs_set(NULL);
}

/* VCPUs may have all of a processor if nobody tells what the kernel takes. Otherwise admission
 * counts that. */
static void test_whole_processor(void **state)
{
    (void)state;
    kernel_run(init_whole);
}

static void init_least(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 1, .T = 1000000};

    host_clock_set_reading_ticks(1);
    CHECK(vcpu_create(&param) == -RESULT_TOO_SMALL);
    CHECK(param.least > 1);
    param.C = param.least - 1;
    CHECK(vcpu_create(&param) == -RESULT_TOO_SMALL);
    param.C = param.least;
    CHECK_EQUAL(vcpu_create(&param), 1);
    param.id = 1;
    param.C = param.least - 1;
    CHECK(vcpu_setparam(&param) == -RESULT_TOO_SMALL);
    host_clock_set_reading_ticks(0);
}

static void test_budget_worth_its_switches(void **state)
{
    (void)state;
    kernel_run(init_least);
}

static struct semaphore called;

static void post_called(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    note("call");
    (void)semaphore_post(&called);
}

static void wait_for_calls(void *argument)
{
    (void)argument;
    for (;;) {
        (void)semaphore_wait(&called, DEADLINE_NONE);
        host_clock_advance(10);
    }
}

/* The timer's VCPU has 10 in 100, and uses them for the first call. Beside a thread with budget the
 * later calls, every 20, wait for the next budget; they are not lost. */
static void init_postponed(void)
{
    int waiting = create(SCHED_SPORADIC, 10, 100);
    int spinning = create(SCHED_SPORADIC, 800, 1000);
    struct timer timer;

    semaphore_init(&called, 0, 100);
    timer_init(&timer, post_called, NULL);
    CHECK_EQUAL(vcpu_bind_thread(start("waiter", 10, wait_for_calls, NULL), waiting), 0);
    thread_sleep_until(1);
    timer_arm_periodic(&timer, 100, 20, TIMER_FIRE_EACH);
    CHECK_EQUAL(vcpu_bind_task(spinning), 0);
    host_clock_advance(130);
    CHECK_EQUAL(time_now(), 131);
    CHECK_NOTES("call");
    host_clock_advance(69);
    CHECK_NOTES("call call call call call"); /* at 200, those of 120 to 200 */
    CHECK(timer_cancel(&timer));
}

static void test_timer_of_a_vcpu_without_budget_waits(void **state)
{
    (void)state;
    kernel_run(init_postponed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_arguments),
        cmocka_unit_test(test_refusal_says_by_how_much),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_force_terminates_threads),
        cmocka_unit_test(test_thread_destroys_its_own_vcpu),
        cmocka_unit_test(test_waiter_lends_its_budget),
        cmocka_unit_test(test_response_of_a_budget),
        cmocka_unit_test(test_share_of_a_processor),
        cmocka_unit_test(test_blocking),
        cmocka_unit_test(test_critical_sections),
        cmocka_unit_test(test_unmeasured_sections),
        cmocka_unit_test(test_whole_processor),
        cmocka_unit_test(test_budget_worth_its_switches),
        cmocka_unit_test(test_timer_of_a_vcpu_without_budget_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
