/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests timers whose callbacks run in the thread "timers": context, order, cancelling. */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include <stdio.h>
#include <string.h>

#define URGENT (TIMER_THREAD_PRIORITY + 1)

static void set_priority(unsigned priority)
{
    CHECK_EQUAL(thread_set_priority(thread_current(), priority), RESULT_OK);
}

static void init_timer(struct timer *timer, void (*callback)(struct timer *, void *),
                       void *argument)
{
    CHECK_EQUAL(timer_init_threaded(timer, callback, argument), RESULT_OK);
}

static void note_call(struct timer *timer, void *argument)
{
    CHECK(!interrupt_context());
    CHECK(thread_current() == timer_callback_thread());
    CHECK(time_now() >= timer->due);
    note(argument);
}

static void note_due(struct timer *timer, void *argument)
{
    char word[24];

    (void)argument;
    (void)snprintf(word, sizeof word, "%llu", (unsigned long long)timer->due);
    note(word);
}

static void sleep_10(struct timer *timer, void *argument)
{
    note_due(timer, NULL);
    thread_sleep_until(time_after(10));
    note(argument);
}

static void init_context(void)
{
    struct timer first;
    struct timer second;

    CHECK(timer_callback_thread() == NULL);
    init_timer(&first, note_call, "first");
    CHECK(strcmp(thread_name(timer_callback_thread()), "timers") == 0);
    CHECK_EQUAL(thread_priority(timer_callback_thread()), TIMER_THREAD_PRIORITY);
    init_timer(&second, note_call, "second");
    CHECK_EQUAL(thread_statistics(NULL, 0), 3); /* init, idle and one thread "timers" */
    timer_arm(&second, 200);
    timer_arm(&first, 100);
    host_clock_advance(99);
    CHECK_NOTES("");
    host_clock_advance(200);
    CHECK_NOTES("first second");

    /* A more urgent thread is not disturbed. The order is that of expiration. */
    set_priority(URGENT);
    timer_arm(&second, 310);
    timer_arm(&first, 320);
    host_clock_advance(100);
    CHECK_NOTES("");
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("second first");
    CHECK(!timer_cancel(&first));
}

/* A callback that blocks delays the next one only. */
static void note_interrupt(struct timer *timer, void *argument)
{
    (void)timer;
    CHECK(interrupt_context());
    note(argument);
}

static void init_blocking_callback(void)
{
    struct timer sleeper;
    struct timer other;
    struct timer in_interrupt;

    init_timer(&sleeper, sleep_10, "slept");
    init_timer(&other, note_call, "other");
    timer_init(&in_interrupt, note_interrupt, "interrupt");
    timer_arm(&sleeper, 100);
    timer_arm(&other, 102);
    timer_arm(&in_interrupt, 104);
    thread_sleep_until(106);
    note("init");
    thread_sleep_until(200);
    CHECK_NOTES("100 interrupt init slept other");
}

static void test_context_and_order(void **state)
{
    (void)state;
    kernel_run(init_context);
    kernel_run(init_blocking_callback);
}

static void init_periodic_skip(void)
{
    struct timer timer;

    init_timer(&timer, note_due, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_SKIP_MISSED);
    host_clock_advance(25);
    CHECK_NOTES("10 20");
    CHECK_EQUAL(timer.skipped, 0);
    set_priority(URGENT);
    host_clock_advance(40); /* 65 */
    CHECK_NOTES("");
    CHECK_EQUAL(timer.skipped, 3);
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("60");
    host_clock_advance(5);
    CHECK_NOTES("70");
    CHECK(timer_cancel(&timer));
}

static void init_periodic_each(void)
{
    struct timer timer;

    init_timer(&timer, note_due, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_FIRE_EACH);
    set_priority(URGENT);
    host_clock_advance(35);
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("10 20 30");
    CHECK_EQUAL(timer.skipped, 0);
    set_priority(URGENT);
    host_clock_advance(30);
    CHECK(timer_cancel(&timer)); /* three calls are due, none of which is made */
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("");
}

/* `due` stays that of the call while later periods become due. */
static void check_due_stays(struct timer *timer, void *argument)
{
    uint64_t due = timer->due;

    (void)argument;
    host_clock_advance(25);
    CHECK_EQUAL(timer->due, due);
    note_due(timer, NULL);
    if (due >= 60) {
        CHECK(timer_cancel(timer));
    }
}

static void init_periodic_overrun(void)
{
    struct timer timer;

    init_timer(&timer, check_due_stays, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_SKIP_MISSED);
    host_clock_advance(11);
    CHECK_NOTES("10 30 60");
    CHECK_EQUAL(timer.skipped, 1 + 2 + 1); /* 20, 40 and 50, 70; 80 is cancelled */
}

static void test_periodic(void **state)
{
    (void)state;
    kernel_run(init_periodic_skip);
    kernel_run(init_periodic_each);
    kernel_run(init_periodic_overrun);
}

static void init_cancel_before_call(void)
{
    struct timer timer;

    init_timer(&timer, note_call, "call");
    timer_arm(&timer, 100);
    CHECK(timer_cancel(&timer));
    CHECK(!timer_cancel(&timer));
    set_priority(URGENT);
    timer_arm(&timer, 100);
    host_clock_advance(100);
    CHECK(!timer.armed);
    CHECK(timer_cancel(&timer)); /* expired, and not yet called */
    CHECK(!timer_cancel(&timer));
    timer_arm(&timer, 110);
    host_clock_advance(10);
    timer_arm(&timer, 200); /* replaces the call that is due */
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("");
    host_clock_advance(100);
    CHECK_NOTES("call");
}

static struct semaphore go;

static void wait_and_note(struct timer *timer, void *argument)
{
    (void)timer;
    CHECK_EQUAL(semaphore_wait(&go, DEADLINE_NONE), RESULT_OK);
    note(argument);
}

static void wait_and_rearm(struct timer *timer, void *argument)
{
    wait_and_note(timer, argument);
    timer_arm(timer, 1);
}

static void cancel_and_note(void *argument)
{
    CHECK(timer_cancel_wait(argument)); /* the callback has armed it */
    note("cancelled");
}

static void init_cancel_while_running(void)
{
    struct timer timer;

    semaphore_init(&go, 0, 1);
    init_timer(&timer, wait_and_rearm, "call");
    timer_arm(&timer, 100);
    host_clock_advance(100);
    CHECK(!timer_cancel(&timer)); /* has begun */
    struct thread *canceller = start("canceller", 60, cancel_and_note, &timer);

    CHECK_NOTES("");
    CHECK_EQUAL(effective_priority(timer_callback_thread()), 60);
    CHECK_EQUAL(semaphore_post(&go), RESULT_OK);
    CHECK_NOTES("call cancelled");
    CHECK_EQUAL(effective_priority(timer_callback_thread()), TIMER_THREAD_PRIORITY);
    finish(canceller);
    host_clock_advance(1000);
    CHECK_NOTES("");
    CHECK(!timer_cancel_wait(&timer)); /* nothing to wait for */
}

static void cancel_both(struct timer *timer, void *argument)
{
    CHECK(!timer_cancel_wait(timer));   /* its own callback */
    CHECK(timer_cancel_wait(argument)); /* is due, behind this call */
    note("cancelled");
}

static void init_cancel_in_callback(void)
{
    struct timer first;
    struct timer second;

    init_timer(&first, cancel_both, &second);
    init_timer(&second, note_call, "second");
    set_priority(URGENT);
    timer_arm(&first, 100);
    timer_arm(&second, 100);
    host_clock_advance(100);
    set_priority(INIT_PRIORITY);
    CHECK_NOTES("cancelled");
}

static void init_cancel_interrupt_timer(void)
{
    struct timer timer;

    timer_init(&timer, note_interrupt, "interrupt");
    timer_arm(&timer, 100);
    CHECK(timer_cancel_wait(&timer));
    CHECK(!timer_cancel_wait(&timer));
}

static struct {
    bool cancelled;
    unsigned begun;
    unsigned ended;
} sweep;

static void count_call(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    CHECK(!sweep.cancelled);
    sweep.begun++;
    thread_sleep_until(time_after(5));
    sweep.ended++;
    CHECK(!sweep.cancelled);
}

static void pass_deadline(void *argument)
{
    (void)argument;
    host_clock_advance(100); /* time passes in the handler; the alarm comes afterwards */
}

/* The timer expires at any point around timer_cancel_wait(): no callback runs after it. */
static void init_cancel_sweep(void)
{
    struct timer timer;

    memset(&sweep, 0, sizeof sweep);
    init_timer(&timer, count_call, NULL);
    sweep_interrupt(pass_deadline, NULL);
    timer_arm(&timer, 50);
    bool was_armed = timer_cancel_wait(&timer);

    sweep.cancelled = true;
    CHECK_EQUAL(sweep.begun, was_armed ? 0 : 1);
    CHECK_EQUAL(sweep.ended, sweep.begun);
    thread_sleep_until(time_after(200));
    memset(&timer, 0xee, sizeof timer); /* nobody uses it any more */
    thread_sleep_until(time_after(200));
}

static void test_cancel(void **state)
{
    (void)state;
    kernel_run(init_cancel_before_call);
    kernel_run(init_cancel_while_running);
    kernel_run(init_cancel_in_callback);
    kernel_run(init_cancel_interrupt_timer);
    kernel_sweep(init_cancel_sweep, 5);
}

static void init_no_memory(void)
{
    struct timer timer;
    void *pages;

    do {
        pages = page_allocate(1, PAGE_BYTES);
    } while (pages != NULL);
    do {
        pages = heap_allocate(64);
    } while (pages != NULL);
    CHECK_EQUAL(timer_init_threaded(&timer, note_call, NULL), RESULT_NO_MEMORY);
    CHECK(timer_callback_thread() == NULL);
}

static void test_no_memory(void **state)
{
    (void)state;
    kernel_run(init_no_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_and_order),
        cmocka_unit_test(test_periodic),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
