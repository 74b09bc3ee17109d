/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests condition variables: signals, time-outs, and the mutex that the waiter locks again. */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include "sched/thread_private.h"

static struct mutex guard;
static struct condition changed;
static struct semaphore go;

static void set_up(void)
{
    mutex_init(&guard);
    condition_init(&changed);
    semaphore_init(&go, 0, 10);
}

static void lock(void)
{
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_NONE), RESULT_OK);
}

static void unlock(void)
{
    CHECK_EQUAL(mutex_unlock(&guard), RESULT_OK);
}

static void wait_and_note(void *argument)
{
    lock();
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_NONE), RESULT_OK);
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_BUSY); /* this thread holds it */
    note(argument);
    unlock();
}

static void init_signals(void)
{
    set_up();
    CHECK(!condition_signal(&changed)); /* not kept for a later waiter */
    struct thread *a = start("a", 40, wait_and_note, "a");
    struct thread *b = start("b", 50, wait_and_note, "b");
    struct thread *c = start("c", 50, wait_and_note, "c");
    struct thread *d = start("d", 45, wait_and_note, "d");

    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_OK); /* the waiters have unlocked it */
    unlock();
    CHECK(condition_signal(&changed)); /* also without the mutex */
    CHECK_NOTES("b");
    CHECK_EQUAL(thread_set_priority(a, 60), RESULT_OK); /* moves to the front */
    CHECK(condition_signal(&changed));
    CHECK_NOTES("a");
    CHECK(condition_signal(&changed));
    CHECK(condition_signal(&changed));
    CHECK_NOTES("c d");
    CHECK(!condition_signal(&changed));
    finish(a);
    finish(b);
    finish(c);
    finish(d);
}

static void signal_with_mutex(void *argument)
{
    (void)argument;
    lock();
    CHECK(condition_signal(&changed));
    unlock();
}

/* A more urgent thread gets the mutex that the wait unlocks, and signals before this thread runs
 * again. */
static void init_signal_at_unlock(void)
{
    set_up();
    lock();
    struct thread *other = start("other", 50, signal_with_mutex, NULL);

    CHECK_EQUAL(condition_wait(&changed, &guard, time_after(100)), RESULT_OK);
    unlock();
    finish(other);
}

static void test_signals(void **state)
{
    (void)state;
    kernel_run(init_signals);
    kernel_run(init_signal_at_unlock);
}

static void refuse_foreign_mutex(void *argument)
{
    (void)argument;
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_NONE), RESULT_NOT_OWNER);
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_POLL), RESULT_NOT_OWNER);
}

static void init_refusals(void)
{
    set_up();
    refuse_foreign_mutex(NULL);
    lock();
    finish(start("foreign", 40, refuse_foreign_mutex, NULL));
    struct thread *waiter = start("waiter", 40, wait_and_note, "waiter");

    /* A poll does not unlock, or the waiter would get the mutex. */
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(effective_priority(thread_current()), 40);
    unlock();
    CHECK(condition_signal(&changed));
    finish(waiter);
}

static void test_refusals(void **state)
{
    (void)state;
    kernel_run(init_refusals);
}

/* The waiter of a signal given with the mutex locked does not run before the mutex is its own,
 * lends its priority meanwhile, and can no longer time out. */
static void wait_100(void *argument)
{
    lock();
    *(enum result *)argument = condition_wait(&changed, &guard, time_after(100));
    note("waiter");
    unlock();
}

static void init_morphing(void)
{
    struct scheduler_statistics before;
    struct scheduler_statistics after;
    enum result result = RESULT_INVALID;

    set_up();
    struct thread *waiter = start("waiter", 50, wait_100, &result);

    lock();
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    scheduler_statistics(&before);
    CHECK(condition_signal(&changed));
    CHECK_EQUAL(effective_priority(thread_current()), 50);
    CHECK_EQUAL(thread_set_priority(waiter, 60), RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), 60);
    host_clock_advance(1000);
    scheduler_statistics(&after);
    CHECK_EQUAL(after.context_switches, before.context_switches);
    CHECK_NOTES("");
    unlock();
    CHECK_NOTES("waiter");
    CHECK_EQUAL(result, RESULT_OK);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    finish(waiter);
}

static void test_signal_while_locked(void **state)
{
    (void)state;
    kernel_run(init_morphing);
}

/* The deadline passes while another thread holds the mutex: the wait lasts until that unlocks. */
static void init_time_out(void)
{
    enum result result = RESULT_INVALID;

    set_up();
    struct thread *waiter = start("waiter", 50, wait_100, &result);

    lock();
    host_clock_advance(99);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    host_clock_advance(1);
    CHECK_NOTES("");
    CHECK_EQUAL(effective_priority(thread_current()), 50);
    CHECK(!condition_signal(&changed)); /* waits for the mutex now, not for a signal */
    unlock();
    CHECK_NOTES("waiter");
    CHECK_EQUAL(result, RESULT_TIMED_OUT);
    finish(waiter);
}

/* A deadline in the past unlocks the mutex for a moment: the thread that waits for it has it
 * meanwhile. */
static void lock_and_note(void *argument)
{
    lock();
    note(argument);
    unlock();
}

static void init_past_deadline(void)
{
    set_up();
    host_clock_advance(1000);
    lock();
    struct thread *other = start("other", 50, lock_and_note, "other");

    CHECK_EQUAL(condition_wait(&changed, &guard, 1), RESULT_TIMED_OUT);
    CHECK_NOTES("other");
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_BUSY);
    unlock();
    finish(other);
}

static void test_time_out(void **state)
{
    (void)state;
    kernel_run(init_time_out);
    kernel_run(init_past_deadline);
}

/* Waits again at once, and is not signalled twice by one broadcast. */
static void wait_twice(void *argument)
{
    lock();
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_NONE), RESULT_OK);
    note(argument);
    CHECK_EQUAL(condition_wait(&changed, &guard, DEADLINE_NONE), RESULT_OK);
    note(argument);
    unlock();
}

static void broadcast(void *argument)
{
    (void)argument;
    condition_broadcast(&changed);
}

static void init_broadcast(void)
{
    set_up();
    struct thread *a = start("a", 40, wait_twice, "a");
    struct thread *b = start("b", 50, wait_twice, "b");
    struct thread *c = start("c", 45, wait_twice, "c");

    condition_broadcast(&changed);
    CHECK_NOTES("b c a");
    host_interrupt(broadcast, NULL);
    CHECK_NOTES("b c a");
    condition_broadcast(&changed); /* nobody waits */
    finish(a);
    finish(b);
    finish(c);

    struct thread *d = start("d", 40, wait_and_note, "d");
    struct thread *e = start("e", 50, wait_and_note, "e");

    lock();
    condition_broadcast(&changed);
    CHECK_NOTES("");
    CHECK_EQUAL(effective_priority(thread_current()), 50);
    unlock();
    CHECK_NOTES("e d");
    finish(d);
    finish(e);
}

static void test_broadcast(void **state)
{
    (void)state;
    kernel_run(init_broadcast);
}

static void signal_changed(void *argument)
{
    (void)argument;
    (void)condition_signal(&changed);
}

/* The interrupted thread holds the mutex, or nobody does. */
static void init_signal_in_interrupt(void)
{
    set_up();
    struct thread *a = start("a", 50, wait_and_note, "a");

    lock();
    host_interrupt(signal_changed, NULL);
    CHECK_NOTES("");
    CHECK_EQUAL(effective_priority(thread_current()), 50);
    unlock();
    CHECK_NOTES("a");
    finish(a);
    struct thread *b = start("b", 50, wait_and_note, "b");

    host_interrupt(signal_changed, NULL);
    CHECK_NOTES("b");
    finish(b);
}

static enum result sweep_result;

static void wait_until_100(void *argument)
{
    (void)argument;
    lock();
    sweep_result = condition_wait(&changed, &guard, 100);
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_BUSY);
    unlock();
}

static void pass_deadline(void *argument)
{
    (void)argument;
    host_clock_advance(200); /* time passes in the handler; the alarm comes afterwards */
}

/* At any point around a wait and a signal, the deadline passes or an interrupt signals. */
static void init_sweep(void (*handler)(void *argument))
{
    set_up();
    sweep_result = RESULT_INVALID;
    sweep_interrupt(handler, NULL);
    struct thread *waiter = start("waiter", 40, wait_until_100, NULL);

    lock();
    (void)condition_signal(&changed);
    unlock();
    finish(waiter);
    CHECK(sweep_result == RESULT_OK || sweep_result == RESULT_TIMED_OUT);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    CHECK(!condition_signal(&changed));
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_OK);
    unlock();
}

static void init_deadline_sweep(void)
{
    init_sweep(pass_deadline);
}

static void init_signal_sweep(void)
{
    init_sweep(signal_changed);
}

static void test_interrupts_at_every_point(void **state)
{
    (void)state;
    kernel_run(init_signal_in_interrupt);
    kernel_sweep(init_deadline_sweep, 10);
    kernel_sweep(init_signal_sweep, 10);
}

static void init_critical_section(void)
{
    set_up();
    lock();
    (void)interrupts_save();
    (void)condition_wait(&changed, &guard, DEADLINE_NONE);
}

static void wait_in_handler(void *argument)
{
    (void)argument;
    (void)condition_wait(&changed, &guard, DEADLINE_NONE);
}

static void init_wait_in_handler(void)
{
    set_up();
    host_interrupt(wait_in_handler, NULL);
}

static void test_waits_only_where_threads_block(void **state)
{
    (void)state;
    kernel_panics(init_critical_section, "critical section");
    kernel_panics(init_wait_in_handler, "mutex");
}

static void sleep_and_wait(void *argument)
{
    (void)argument;
    lock();
    thread_sleep_until(100);
    (void)condition_wait(&changed, &guard, DEADLINE_NONE);
    note("survived");
}

static void terminate(struct thread *thread)
{
    interrupt_state state = interrupts_save();

    thread_terminate(thread);
    interrupts_restore(state);
}

/* A thread that is terminated while it holds the mutex ends when the wait unlocks it. */
static void init_terminated_before_wait(void)
{
    set_up();
    struct thread *thread = start("condemned", 40, sleep_and_wait, NULL);

    terminate(thread);
    host_clock_advance(100);
    CHECK(!condition_signal(&changed));
    CHECK_EQUAL(thread_join(thread, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(mutex_lock(&guard, DEADLINE_POLL), RESULT_OK);
    unlock();
    CHECK_NOTES("");
}

/* A waiter that is terminated leaves the condition variable, or the mutex that it was moved to. */
static void init_terminated_waiters(void)
{
    set_up();
    struct thread *first = start("first", 50, wait_and_note, "first");
    struct thread *second = start("second", 40, wait_and_note, "second");

    lock();
    CHECK(condition_signal(&changed));
    CHECK_EQUAL(effective_priority(thread_current()), 50);
    terminate(first);
    CHECK_EQUAL(effective_priority(thread_current()), INIT_PRIORITY);
    terminate(second);
    CHECK(!condition_signal(&changed));
    unlock();
    finish(first);
    finish(second);
    CHECK_NOTES("");
}

static void test_terminated_threads(void **state)
{
    (void)state;
    kernel_run(init_terminated_before_wait);
    kernel_run(init_terminated_waiters);
}

/* Producers and consumers of a small buffer, with random priorities and deadlines. */
#define CROWD    8u
#define ITEMS    100u
#define CAPACITY 2u

static struct {
    struct condition filled;
    struct condition drained;
    unsigned stored;
    unsigned taken;
    uint64_t random;
} buffer;

static bool wait_on(struct condition *condition)
{
    uint64_t deadline = random_below(&buffer.random, 2) == 0
                            ? DEADLINE_NONE
                            : time_after(1 + random_below(&buffer.random, 40));

    return condition_wait(condition, &guard, deadline) == RESULT_OK;
}

static void pause_randomly(void)
{
    thread_sleep_until(time_after(random_below(&buffer.random, 20)));
    CHECK_EQUAL(
        thread_set_priority(thread_current(), 1 + (unsigned)random_below(&buffer.random, 63)),
        RESULT_OK);
}

static void produce(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < ITEMS; i++) {
        lock();
        while (buffer.stored == CAPACITY) {
            (void)wait_on(&buffer.drained);
        }
        buffer.stored++;
        CHECK(buffer.stored <= CAPACITY);
        if (random_below(&buffer.random, 2) == 0) {
            thread_sleep_until(time_after(1)); /* holds the mutex */
        }
        (void)condition_signal(&buffer.filled);
        unlock();
        CHECK_EQUAL(effective_priority(thread_current()), thread_priority(thread_current()));
        pause_randomly();
    }
}

static void consume(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < ITEMS; i++) {
        lock();
        while (buffer.stored == 0) {
            (void)wait_on(&buffer.filled);
        }
        buffer.stored--;
        buffer.taken++;
        condition_broadcast(&buffer.drained);
        unlock();
        CHECK_EQUAL(effective_priority(thread_current()), thread_priority(thread_current()));
        pause_randomly();
    }
}

static void init_crowd(void)
{
    struct thread *thread[CROWD];

    set_up();
    condition_init(&buffer.filled);
    condition_init(&buffer.drained);
    buffer.random = 77;
    buffer.stored = 0;
    buffer.taken = 0;
    for (unsigned i = 0; i < CROWD; i++) {
        thread[i] = start("member", 1 + i * 7, i % 2 == 0 ? produce : consume, NULL);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        finish(thread[i]);
    }
    CHECK_EQUAL(buffer.taken, CROWD / 2 * ITEMS);
    CHECK_EQUAL(buffer.stored, 0);
}

static void test_crowd(void **state)
{
    (void)state;
    kernel_run(init_crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_signal_while_locked),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_interrupts_at_every_point),
        cmocka_unit_test(test_waits_only_where_threads_block),
        cmocka_unit_test(test_terminated_threads),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
