/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests mutexes: exclusion, hand-over, and priority inheritance. */
#include "kernel/sync.h"
#include "kernel_fixture.h"

static struct mutex m1;
static struct mutex m2;
static struct mutex m3;
static struct semaphore go;

static void set_up(void)
{
    mutex_init(&m1);
    mutex_init(&m2);
    mutex_init(&m3);
    semaphore_init(&go, 0, 10);
}

static void lock(struct mutex *mutex)
{
    CHECK_EQUAL(mutex_lock(mutex, DEADLINE_NONE), RESULT_OK);
}

static void unlock(struct mutex *mutex)
{
    CHECK_EQUAL(mutex_unlock(mutex), RESULT_OK);
}

static void lock_and_note(void *argument)
{
    lock(&m1);
    note(argument);
    unlock(&m1);
}

static void unlock_foreign(void *argument)
{
    (void)argument;
    CHECK_EQUAL(mutex_unlock(&m1), RESULT_NOT_OWNER);
    CHECK_EQUAL(mutex_lock(&m1, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(mutex_lock(&m1, time_after(50)), RESULT_TIMED_OUT);
}

static void init_basics(void)
{
    set_up();
    CHECK_EQUAL(mutex_unlock(&m1), RESULT_NOT_OWNER);
    lock(&m1);
    CHECK_EQUAL(mutex_lock(&m1, DEADLINE_NONE), RESULT_BUSY);
    CHECK_EQUAL(mutex_lock(&m1, DEADLINE_POLL), RESULT_BUSY);
    finish(start("foreign", INIT_PRIORITY + 1, unlock_foreign, NULL));
    struct thread *a = start("a", INIT_PRIORITY + 1, lock_and_note, "a");
    struct thread *b = start("b", INIT_PRIORITY + 2, lock_and_note, "b");
    struct thread *c = start("c", INIT_PRIORITY + 2, lock_and_note, "c");

    unlock(&m1); /* to the most urgent waiter, the first among equals */
    CHECK_NOTES("b c a");
    finish(a);
    finish(b);
    finish(c);
    CHECK_EQUAL(mutex_unlock(&m1), RESULT_NOT_OWNER);
    CHECK_EQUAL(mutex_lock(&m1, DEADLINE_POLL), RESULT_OK);
    unlock(&m1);
}

static void test_basics(void **state)
{
    (void)state;
    kernel_run(init_basics);
}

/* A thread whose priority lies between that of the waiter and the owner's base priority must not
 * delay the waiter. */
static void hold_m1(void *argument)
{
    (void)argument;
    lock(&m1);
    note("low has it");
    CHECK_EQUAL(semaphore_wait(&go, DEADLINE_NONE), RESULT_OK);
    note("low goes on");
    unlock(&m1);
    note("low is done");
}

static void run_in_between(void *argument)
{
    (void)argument;
    note("middle");
}

static void init_inversion(void)
{
    set_up();
    struct thread *low = start("low", 10, hold_m1, NULL);

    thread_sleep_until(time_after(10));
    struct thread *high = start("high", 50, lock_and_note, "high");

    CHECK_EQUAL(effective_priority(low), 50);
    CHECK_EQUAL(thread_priority(low), 10);
    struct thread *middle = start("middle", 20, run_in_between, NULL);

    CHECK_EQUAL(semaphore_post(&go), RESULT_OK); /* low, at 50, preempts this thread */
    CHECK_NOTES("low has it low goes on high");
    finish(middle);
    finish(low);
    finish(high);
    CHECK_NOTES("middle low is done");
}

static void test_priority_inversion(void **state)
{
    (void)state;
    kernel_run(init_inversion);
}

static void chain_second(void *argument)
{
    (void)argument;
    lock(&m2);
    lock(&m1);
    unlock(&m1);
    unlock(&m2);
}

static void chain_third(void *argument)
{
    (void)argument;
    lock(&m3);
    lock(&m2);
    unlock(&m2);
    unlock(&m3);
}

static void chain_fourth(void *argument)
{
    *(enum result *)argument = mutex_lock(&m3, time_after(100));
    if (*(enum result *)argument == RESULT_OK) {
        unlock(&m3);
    }
}

/* init holds m1, for which second waits; second holds m2, for which third waits; third holds m3,
 * for which fourth waits, with a deadline. fourth is the most urgent. */
static void init_chain(void)
{
    enum result fourth_result = RESULT_INVALID;

    set_up();
    lock(&m1);
    struct thread *second = start("second", 33, chain_second, NULL);
    struct thread *third = start("third", 34, chain_third, NULL);

    CHECK_EQUAL(effective_priority(thread_current()), 34);
    struct thread *fourth = start("fourth", 60, chain_fourth, &fourth_result);

    CHECK_EQUAL(effective_priority(third), 60);
    CHECK_EQUAL(effective_priority(second), 60);
    CHECK_EQUAL(effective_priority(thread_current()), 60);
    /* The last waiter becomes less urgent, and more urgent again. */
    CHECK_EQUAL(thread_set_priority(fourth, 40), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 40);
    CHECK_EQUAL(thread_set_priority(third, 45), RESULT_OK);
    CHECK_EQUAL(effective_priority(second), 45);
    CHECK_EQUAL(thread_set_priority(third, 34), RESULT_OK);
    CHECK_EQUAL(thread_set_priority(fourth, 63), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 63);

    /* The deadline passes: all inheritance is undone before another thread runs. */
    host_clock_advance(100);
    CHECK_EQUAL(fourth_result, RESULT_TIMED_OUT);
    CHECK_EQUAL(effective_priority(third), 34);
    CHECK_EQUAL(effective_priority(second), 34);
    CHECK_EQUAL(effective_priority(thread_current()), 34);
    unlock(&m1);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    finish(fourth);
    finish(third);
    finish(second);
}

static void test_transitive_chain(void **state)
{
    (void)state;
    kernel_run(init_chain);
}

static void lock_argument(void *argument)
{
    lock(argument);
    unlock(argument);
}

static void init_several_held(void)
{
    set_up();
    lock(&m1);
    lock(&m2);
    lock(&m3);
    struct thread *a = start("a", 40, lock_argument, &m1);
    struct thread *b = start("b", 50, lock_argument, &m2);
    struct thread *c = start("c", 60, lock_argument, &m3);

    CHECK_EQUAL(effective_priority(thread_current()), 60);
    unlock(&m2); /* not the mutex of the most urgent waiter: no change */
    CHECK_EQUAL(effective_priority(thread_current()), 60);
    unlock(&m3);
    CHECK_EQUAL(effective_priority(thread_current()), 40);
    unlock(&m1);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    finish(a);
    finish(b);
    finish(c);
}

static void test_several_held(void **state)
{
    (void)state;
    kernel_run(init_several_held);
}

/* The base priority of an owner changes while the owner inherits another one. */
static void init_base_changes(void)
{
    set_up();
    lock(&m1);
    struct thread *a = start("a", 40, lock_argument, &m1);

    CHECK_EQUAL(thread_set_priority(thread_current(), 20), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 40);
    CHECK_EQUAL(thread_set_priority(thread_current(), 45), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 45);
    CHECK_EQUAL(thread_set_priority(thread_current(), 20), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 40);
    unlock(&m1);
    CHECK_EQUAL(effective_priority(thread_current()), 20);
    finish(a);
}

static void test_base_priority_changes(void **state)
{
    (void)state;
    kernel_run(init_base_changes);
}

/* Waiters move within the queue when their priority changes, inherited or not. */
static void hold_m2_want_m1(void *argument)
{
    (void)argument;
    lock(&m2);
    lock(&m1);
    note("holder");
    unlock(&m1);
    unlock(&m2);
}

static void init_reorder(void)
{
    set_up();
    lock(&m1);
    struct thread *a = start("a", 33, hold_m2_want_m1, NULL);
    struct thread *b = start("b", 40, lock_and_note, "b");
    struct thread *c = start("c", 39, lock_and_note, "c");
    struct thread *urgent = start("urgent", 50, lock_argument, &m2); /* a inherits 50 */

    /* This thread runs at its waiters' priority and has to sleep, so that they can wait. */
    thread_sleep_until(time_after(1));
    CHECK_EQUAL(thread_set_priority(c, 41), RESULT_OK);
    unlock(&m1);
    CHECK_NOTES("holder c b");
    finish(a);
    finish(b);
    finish(c);
    finish(urgent);
}

static void test_waiters_are_reordered(void **state)
{
    (void)state;
    kernel_run(init_reorder);
}

static void deadlock_other(void *argument)
{
    (void)argument;
    lock(&m2);
    CHECK_EQUAL(mutex_lock(&m1, time_after(300)), RESULT_TIMED_OUT);
    note("other gave up");
    unlock(&m2);
}

/* The waiters form a cycle: the walk along the chain ends, and the priorities are right again after
 * the cycle is broken. */
static void init_deadlock(void)
{
    set_up();
    lock(&m1);
    struct thread *other = start("other", 33, deadlock_other, NULL);
    struct thread *urgent = start("urgent", 60, lock_argument, &m1);

    CHECK_EQUAL(effective_priority(thread_current()), 60);
    CHECK_EQUAL(effective_priority(other), 33);
    CHECK_EQUAL(mutex_lock(&m2, time_after(200)), RESULT_TIMED_OUT); /* closes the cycle */
    CHECK_EQUAL(effective_priority(other), 33);
    CHECK_EQUAL(effective_priority(thread_current()), 60);
    /* Works now, because `other` times out. */
    CHECK_EQUAL(mutex_lock(&m2, DEADLINE_NONE), RESULT_OK);
    CHECK_NOTES("other gave up");
    CHECK_EQUAL(effective_priority(thread_current()), 60);
    unlock(&m1);
    unlock(&m2);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    finish(other);
    finish(urgent);
}

static void test_deadlock_with_deadlines(void **state)
{
    (void)state;
    kernel_run(init_deadlock);
}

static enum result sweep_result;

static void lock_with_deadline(void *argument)
{
    (void)argument;
    sweep_result = mutex_lock(&m1, 100);
    if (sweep_result == RESULT_OK) {
        unlock(&m1);
    }
}

static void pass_deadline(void *argument)
{
    (void)argument;
    host_clock_advance(200); /* time passes in the handler; the alarm comes afterwards */
}

/* A deadline passes at any point around a hand-over: the mutex is either locked or not. */
static void init_deadline_sweep(void)
{
    set_up();
    sweep_interrupt(pass_deadline, NULL);
    lock(&m1);
    struct thread *waiter = start("waiter", 40, lock_with_deadline, NULL);

    unlock(&m1);
    finish(waiter);
    CHECK(sweep_result == RESULT_OK || sweep_result == RESULT_TIMED_OUT);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    CHECK_EQUAL(mutex_lock(&m1, DEADLINE_POLL), RESULT_OK);
    unlock(&m1);
}

static void test_deadline_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_deadline_sweep, 10);
}

static void lock_in_handler(void *argument)
{
    (void)argument;
    (void)mutex_lock(&m1, DEADLINE_POLL);
}

static void init_interrupt(void)
{
    set_up();
    host_interrupt(lock_in_handler, NULL);
}

static void test_not_in_interrupts(void **state)
{
    (void)state;
    kernel_panics(init_interrupt, "mutex");
}

#define CROWD 12u
static struct mutex crowd_mutex[4];
static uint64_t crowd_random;
static unsigned inside[4];

/* Locks mutexes in ascending order, some with deadlines, and holds them for a while. */
static void crowd_member(void *argument)
{
    (void)argument;
    for (unsigned round = 0; round < 60; round++) {
        bool held[4] = {false};

        for (unsigned i = 0; i < 4; i++) {
            if (random_below(&crowd_random, 2) == 0) {
                continue;
            }
            uint64_t deadline = random_below(&crowd_random, 2) == 0
                                    ? DEADLINE_NONE
                                    : time_after(random_below(&crowd_random, 60));

            held[i] = mutex_lock(&crowd_mutex[i], deadline) == RESULT_OK;
            if (held[i]) {
                inside[i]++;
                CHECK_EQUAL(inside[i], 1);
            }
        }
        thread_sleep_until(time_after(random_below(&crowd_random, 30)));
        for (unsigned i = 0; i < 4; i++) {
            if (held[i]) {
                inside[i]--;
                unlock(&crowd_mutex[i]);
            }
        }
        /* Mutexes already released must no longer affect the priority. */
        CHECK_EQUAL(effective_priority(thread_current()), thread_priority(thread_current()));
        CHECK_EQUAL(
            thread_set_priority(thread_current(), 1 + (unsigned)random_below(&crowd_random, 63)),
            RESULT_OK);
    }
}

static void init_crowd(void)
{
    struct thread *thread[CROWD];

    crowd_random = 99;
    for (unsigned i = 0; i < 4; i++) {
        mutex_init(&crowd_mutex[i]);
        inside[i] = 0;
    }
    for (unsigned i = 0; i < CROWD; i++) {
        thread[i] = start("member", 1 + i * 5, crowd_member, NULL);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        finish(thread[i]);
    }
}

static void test_crowd(void **state)
{
    (void)state;
    kernel_run(init_crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basics),
        cmocka_unit_test(test_priority_inversion),
        cmocka_unit_test(test_transitive_chain),
        cmocka_unit_test(test_several_held),
        cmocka_unit_test(test_base_priority_changes),
        cmocka_unit_test(test_waiters_are_reordered),
        cmocka_unit_test(test_deadlock_with_deadlines),
        cmocka_unit_test(test_deadline_at_every_point),
        cmocka_unit_test(test_not_in_interrupts),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
