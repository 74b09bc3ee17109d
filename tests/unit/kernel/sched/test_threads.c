/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests threads: scheduling, how they end, and their statistics. */
#include "kernel/panic.h"
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include <string.h>

static void note_argument(void *argument)
{
    note(argument);
}

static void init_preemption(void)
{
    struct thread *high = start("high", INIT_PRIORITY + 1, note_argument, "high");

    note("init");
    struct thread *low = start("low", INIT_PRIORITY - 1, note_argument, "low");
    struct thread *equal = start("equal", INIT_PRIORITY, note_argument, "equal");

    note("init");
    CHECK_NOTES("high init init");
    finish(low); /* blocks: equal first */
    finish(equal);
    finish(high);
    CHECK_NOTES("equal low");
}

static void test_preemption(void **state)
{
    (void)state;
    kernel_run(init_preemption);
}

static void note_and_yield(void *argument)
{
    for (unsigned i = 0; i < 3; i++) {
        note(argument);
        thread_yield();
    }
}

static void init_yield(void)
{
    struct thread *a = start("a", INIT_PRIORITY - 1, note_and_yield, "a");
    struct thread *b = start("b", INIT_PRIORITY - 1, note_and_yield, "b");
    struct thread *c = start("c", INIT_PRIORITY - 2, note_and_yield, "c");

    thread_yield(); /* no thread of equal priority: continues */
    CHECK_NOTES("");
    finish(a);
    finish(b);
    CHECK_NOTES("a b a b a b");
    finish(c);
    CHECK_NOTES("c c c");
}

static void nothing(void *argument)
{
    (void)argument;
}

static void init_alone(void)
{
    struct thread *less_urgent;
    struct thread *equal;

    CHECK(thread_is_alone());
    less_urgent = start("less", THREAD_PRIORITY_LOWEST, nothing, NULL);
    CHECK(!thread_is_alone());
    CHECK_EQUAL(thread_join(less_urgent, DEADLINE_NONE), RESULT_OK);
    CHECK(thread_is_alone());
    equal = start("equal", INIT_PRIORITY, nothing, NULL);
    CHECK(!thread_is_alone());
    CHECK_EQUAL(thread_join(equal, DEADLINE_NONE), RESULT_OK);
    CHECK(thread_is_alone());
}

static void test_alone_while_no_other_is_ready(void **state)
{
    (void)state;
    kernel_run(init_alone);
}

static void test_yield_is_round_robin(void **state)
{
    (void)state;
    kernel_run(init_yield);
}

static struct semaphore wake_up;

static void wait_for_wake_up(void *argument)
{
    CHECK_EQUAL(semaphore_wait(&wake_up, DEADLINE_NONE), RESULT_OK);
    note(argument);
}

static void post_wake_up(void *argument)
{
    CHECK(interrupt_context());
    (void)argument;
    CHECK_EQUAL(semaphore_post(&wake_up), RESULT_OK);
    note("handler");
}

static void loop_until_equal_ran(void *argument)
{
    (void)argument;
    note("a1");
    host_interrupt(post_wake_up, NULL); /* `high` preempts this thread */
    note("a2");
}

/* A preempted thread continues before other threads of its priority. */
static void init_preempted_stays_first(void)
{
    semaphore_init(&wake_up, 0, 1);
    struct thread *high = start("high", INIT_PRIORITY + 1, wait_for_wake_up, "high");
    struct thread *a = start("a", INIT_PRIORITY - 1, loop_until_equal_ran, NULL);
    struct thread *b = start("b", INIT_PRIORITY - 1, note_argument, "b");

    finish(a);
    finish(b);
    finish(high);
    CHECK_NOTES("a1 handler high a2 b");
    CHECK(!interrupt_context());
}

static void test_preempted_thread_stays_first(void **state)
{
    (void)state;
    kernel_run(init_preempted_stays_first);
}

static void nested_handler(void *argument)
{
    (void)argument;
    CHECK_EQUAL(semaphore_post(&wake_up), RESULT_OK);
    note("inner");
}

/* Interrupts during a critical section, and switches, are delayed until its end. */
static void init_masked(void)
{
    semaphore_init(&wake_up, 0, 1);
    struct thread *high = start("high", INIT_PRIORITY + 1, wait_for_wake_up, "high");
    interrupt_state outer = interrupts_save();
    interrupt_state inner = interrupts_save();

    host_interrupt(nested_handler, NULL);
    note("masked");
    interrupts_restore(inner);
    note("outer");
    interrupts_restore(outer);
    note("open");
    CHECK_NOTES("masked outer inner high open");
    finish(high);

    high = start("high", INIT_PRIORITY + 1, wait_for_wake_up, "high");
    outer = interrupts_save();
    CHECK_EQUAL(semaphore_post(&wake_up), RESULT_OK);
    note("posted");
    interrupts_restore(outer);
    CHECK_NOTES("posted high");
    finish(high);
}

static void test_critical_section(void **state)
{
    (void)state;
    kernel_run(init_masked);
}

static void init_preemption_disabled(void)
{
    semaphore_init(&wake_up, 0, 1);
    struct thread *high = start("high", INIT_PRIORITY + 1, wait_for_wake_up, "high");

    scheduler_preemption_disable();
    scheduler_preemption_disable();
    host_interrupt(nested_handler, NULL); /* runs without switching */
    note("inner section");
    scheduler_preemption_enable();
    note("outer section");
    scheduler_preemption_enable();
    note("open");
    CHECK_NOTES("inner inner section outer section high open");
    finish(high);

    high = start("high", INIT_PRIORITY + 1, wait_for_wake_up, "high");
    scheduler_preemption_disable();
    CHECK_EQUAL(semaphore_post(&wake_up), RESULT_OK); /* by the thread itself */
    note("posted");
    scheduler_preemption_enable();
    CHECK_NOTES("posted high");
    finish(high);
}

static void test_preemption_disabled(void **state)
{
    (void)state;
    kernel_run(init_preemption_disabled);
}

static void exit_early(void *argument)
{
    note(argument);
    thread_exit();
}

static void sleep_then_note(void *argument)
{
    thread_sleep_until(time_after(1000));
    note(argument);
}

static void join_other(void *argument)
{
    CHECK_EQUAL(thread_join(argument, DEADLINE_NONE), RESULT_OK);
    note("joined");
}

static void init_join(void)
{
    struct thread *ended = start("ended", INIT_PRIORITY + 1, exit_early, "ended");

    CHECK_EQUAL(thread_join(ended, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(thread_join(thread_current(), DEADLINE_NONE), RESULT_INVALID);

    struct thread *sleeper = start("sleeper", INIT_PRIORITY + 1, sleep_then_note, "slept");

    CHECK_EQUAL(thread_join(sleeper, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(thread_join(sleeper, time_after(999)), RESULT_TIMED_OUT);
    CHECK_EQUAL(time_now(), 999);
    CHECK_NOTES("ended");

    struct thread *joiner = start("joiner", INIT_PRIORITY + 1, join_other, sleeper);

    CHECK_EQUAL(thread_join(sleeper, DEADLINE_NONE), RESULT_BUSY);
    finish(joiner);
    CHECK_EQUAL(time_now(), 1000);
    CHECK_NOTES("slept joined");
}

static void test_join(void **state)
{
    (void)state;
    kernel_run(init_join);
}

static void note_index(void *argument)
{
    uint64_t index = *(const uint64_t *)argument;
    char word[2] = {(char)('0' + index), '\0'};

    thread_sleep_until(1000 * (index % 4 + 1));
    note(word);
}

static void init_sleep_order(void)
{
    uint64_t index[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct thread *thread[8];

    for (unsigned i = 0; i < 8; i++) {
        thread[i] =
            start("sleeper", i < 4 ? INIT_PRIORITY - 1 : INIT_PRIORITY + 1, note_index, &index[i]);
    }
    for (unsigned i = 0; i < 8; i++) {
        finish(thread[i]);
    }
    CHECK_NOTES("4 0 5 1 6 2 7 3"); /* by time, at the same time by priority */
    thread_sleep_until(DEADLINE_POLL);
    thread_sleep_until(1); /* long past */
    CHECK_EQUAL(time_now(), 4000);
    thread_sleep_until(4500);
    CHECK_EQUAL(time_now(), 4500);
}

static void test_sleep_order(void **state)
{
    (void)state;
    kernel_run(init_sleep_order);
}

static size_t used_bytes(void)
{
    struct memory_statistics statistics;

    memory_statistics(&statistics);
    return statistics.heap_used_bytes;
}

static void init_detach(void)
{
    size_t before = used_bytes();
    struct thread *running = start("running", INIT_PRIORITY - 1, note_argument, "running");
    struct thread *ended = start("ended", INIT_PRIORITY + 1, note_argument, "ended");

    thread_detach(running);
    CHECK_EQUAL(thread_join(running, DEADLINE_NONE), RESULT_INVALID);
    thread_detach(ended);
    thread_detach(ended);               /* a second call has no effect */
    thread_sleep_until(time_after(10)); /* the idle thread frees both */
    CHECK_EQUAL(used_bytes(), before);
    CHECK_NOTES("ended running");

    /* Without idle time, creating threads frees threads that have ended. */
    for (unsigned i = 0; i < 1000; i++) {
        thread_detach(start("short", INIT_PRIORITY + 1, note_argument, ""));
    }
    CHECK(used_bytes() < before + 2 * sizeof(struct thread)); /* at most the last one remains */
    thread_sleep_until(time_after(10));
    CHECK_EQUAL(used_bytes(), before);
    CHECK_EQUAL(thread_statistics(NULL, 0), 2); /* init and idle */
}

static void test_detach(void **state)
{
    (void)state;
    kernel_run(init_detach);
}

static void join_until_500(void *argument)
{
    CHECK_EQUAL(thread_join(argument, 500), RESULT_TIMED_OUT);
    note("gave up");
}

static void join_until_1500(void *argument)
{
    CHECK_EQUAL(thread_join(argument, 1500), RESULT_OK);
    note("joined");
}

/* The thread is detached while another one waits to join it, until the deadline passes. The thread
 * is freed when it ends. */
static void init_detach_during_join_timed_out(void)
{
    size_t before = used_bytes();
    struct thread *sleeper = start("sleeper", INIT_PRIORITY - 1, sleep_then_note, "slept");
    struct thread *joiner = start("joiner", INIT_PRIORITY + 1, join_until_500, sleeper);

    thread_detach(sleeper);
    CHECK_EQUAL(thread_join(sleeper, DEADLINE_NONE), RESULT_INVALID); /* no second joiner */
    finish(joiner);
    CHECK_NOTES("gave up");
    CHECK_EQUAL(thread_join(sleeper, DEADLINE_NONE), RESULT_INVALID); /* detached for good */
    thread_sleep_until(2000);
    CHECK_NOTES("slept");
    CHECK_EQUAL(used_bytes(), before);
    CHECK_EQUAL(thread_statistics(NULL, 0), 2); /* init and idle */
}

/* The thread is detached in the same way but ends before the deadline: the joiner frees it,
 * once. */
static void init_detach_during_join(void)
{
    size_t before = used_bytes();
    struct thread *sleeper = start("sleeper", INIT_PRIORITY - 1, sleep_then_note, "slept");
    struct thread *joiner = start("joiner", INIT_PRIORITY + 1, join_until_1500, sleeper);

    thread_detach(sleeper);
    finish(joiner);
    CHECK_NOTES("slept joined");
    thread_sleep_until(3000);
    CHECK_EQUAL(used_bytes(), before);
    CHECK_EQUAL(thread_statistics(NULL, 0), 2);
}

/* The thread has ended, and its joiner, which frees it, has not run yet. */
static void init_detach_of_joined(void)
{
    size_t before = used_bytes();
    struct thread *sleeper = start("sleeper", INIT_PRIORITY + 1, sleep_then_note, "slept");
    struct thread *joiner = start("joiner", INIT_PRIORITY - 1, join_until_1500, sleeper);

    thread_sleep_until(500); /* the joiner waits now */
    thread_sleep_until(1000);
    CHECK_NOTES("slept");
    thread_detach(sleeper);
    finish(joiner);
    CHECK_NOTES("joined");
    thread_sleep_until(3000);
    CHECK_EQUAL(used_bytes(), before);
    CHECK_EQUAL(thread_statistics(NULL, 0), 2);
}

static void test_detach_during_join(void **state)
{
    (void)state;
    kernel_run(init_detach_during_join_timed_out);
    kernel_run(init_detach_during_join);
    kernel_run(init_detach_of_joined);
}

static void init_out_of_memory(void)
{
    const struct thread_attributes attributes = {
        .name = "large", .priority = 1, .stack_bytes = SIZE_MAX};
    const struct thread_attributes impossible = {
        .name = "large", .priority = 1, .stack_bytes = (size_t)1 << 62};
    size_t before = used_bytes();
    struct thread *thread;

    CHECK_EQUAL(thread_create(&thread, &attributes, note_argument, ""), RESULT_NO_MEMORY);
    CHECK_EQUAL(thread_create(&thread, &impossible, note_argument, ""), RESULT_NO_MEMORY);
    CHECK_EQUAL(used_bytes(), before);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    kernel_run(init_out_of_memory);
}

static enum result create(unsigned priority, size_t stack_bytes, void (*entry)(void *))
{
    const struct thread_attributes attributes = {.priority = priority, .stack_bytes = stack_bytes};
    struct thread *thread;

    return thread_create(&thread, &attributes, entry, "");
}

static void init_invalid(void)
{
    struct thread *thread;

    CHECK_EQUAL(create(0, 4096, note_argument), RESULT_INVALID);
    CHECK_EQUAL(create(64, 4096, note_argument), RESULT_INVALID);
    CHECK_EQUAL(create(5, 0, note_argument), RESULT_INVALID);
    CHECK_EQUAL(create(5, 4096, NULL), RESULT_INVALID);
    CHECK_EQUAL(thread_create(&thread, NULL, note_argument, NULL), RESULT_INVALID);
    CHECK_EQUAL(thread_set_priority(thread_current(), 0), RESULT_INVALID);
    CHECK_EQUAL(thread_set_priority(thread_current(), 64), RESULT_INVALID);
    CHECK_EQUAL(thread_priority(thread_current()), INIT_PRIORITY);
}

static void test_invalid_arguments(void **state)
{
    (void)state;
    kernel_run(init_invalid);
}

static void init_set_priority(void)
{
    struct thread *a = start("a", INIT_PRIORITY - 2, note_argument, "a");
    struct thread *b = start("b", INIT_PRIORITY - 1, note_argument, "b");

    CHECK_EQUAL(thread_set_priority(a, INIT_PRIORITY + 1), RESULT_OK); /* runs at once */
    CHECK_NOTES("a");
    /* Lowered to b's priority, init is placed in front of b; below it, behind b. */
    CHECK_EQUAL(thread_set_priority(thread_current(), INIT_PRIORITY - 1), RESULT_OK);
    note("init");
    CHECK_EQUAL(thread_set_priority(thread_current(), INIT_PRIORITY - 2), RESULT_OK);
    note("init");
    CHECK_NOTES("init b init");
    finish(a);
    finish(b);
}

static void test_set_priority(void **state)
{
    (void)state;
    kernel_run(init_set_priority);
}

static const struct thread_statistics *find(const struct thread_statistics *all, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

static void work(void *argument)
{
    host_clock_advance(*(const uint64_t *)argument);
    thread_sleep_until(time_after(100000));
}

static void long_handler(void *argument)
{
    (void)argument;
    host_clock_advance(77);
}

static void init_statistics(void)
{
    uint64_t span = 5000;
    struct thread_statistics all[4];
    struct scheduler_statistics scheduler;
    struct thread *worker = start("a name that is much too long", INIT_PRIORITY + 1, work, &span);

    host_clock_advance(300);
    host_interrupt(long_handler, NULL); /* its time counts for no thread */
    host_clock_advance(40);
    CHECK_EQUAL(thread_statistics(all, 4), 3);
    const struct thread_statistics *init = find(all, 3, "init");
    const struct thread_statistics *other = find(all, 3, "a name that is ");

    CHECK(init != NULL && other != NULL && find(all, 3, "idle") != NULL);
    CHECK_EQUAL(init->run_nanoseconds, 340);
    CHECK_EQUAL(init->state, THREAD_RUNNING);
    CHECK_EQUAL(other->run_nanoseconds, 5000);
    CHECK_EQUAL(other->state, THREAD_BLOCKED);
    CHECK_EQUAL(other->switches, 1);
    CHECK_EQUAL(other->base_priority, INIT_PRIORITY + 1);
    CHECK_EQUAL(thread_statistics(all, 1), 3); /* writes no more entries than fit */

    finish(worker);
    scheduler_statistics(&scheduler);
    CHECK_EQUAL(scheduler.idle_nanoseconds, 105000 - 5000 - 340 - 77);
    CHECK_EQUAL(scheduler.interrupts, 2); /* this one and the alarm */
    CHECK_EQUAL(scheduler.context_switches, 6);
}

static void test_statistics(void **state)
{
    (void)state;
    kernel_run(init_statistics);
}

static void use_stack(void *argument)
{
    volatile uint8_t block[6000];

    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] = 0;
    }
    (void)argument;
    thread_sleep_until(time_after(10));
}

static void init_stack_use(void)
{
    struct thread *user = start("user", INIT_PRIORITY + 1, use_stack, NULL);

    CHECK(thread_stack_used(user) >= 6000);
    CHECK(thread_stack_used(user) <= STACK_BYTES);
    struct thread *fresh = start("fresh", INIT_PRIORITY - 1, note_argument, "");

    CHECK(thread_stack_used(fresh) < 1024);
    finish(user);
    finish(fresh);
}

static void test_stack_high_water(void **state)
{
    (void)state;
    kernel_run(init_stack_use);
}

static void init_forever(void)
{
    thread_sleep_until(DEADLINE_NONE);
}

static void test_machine_detects_deadlock(void **state)
{
    (void)state;
    assert_int_equal(kernel_status(init_forever), HOST_STATUS_DEADLOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preemption),
        cmocka_unit_test(test_yield_is_round_robin),
        cmocka_unit_test(test_alone_while_no_other_is_ready),
        cmocka_unit_test(test_preempted_thread_stays_first),
        cmocka_unit_test(test_critical_section),
        cmocka_unit_test(test_preemption_disabled),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_sleep_order),
        cmocka_unit_test(test_detach),
        cmocka_unit_test(test_detach_during_join),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_invalid_arguments),
        cmocka_unit_test(test_set_priority),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_stack_high_water),
        cmocka_unit_test(test_machine_detects_deadlock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
