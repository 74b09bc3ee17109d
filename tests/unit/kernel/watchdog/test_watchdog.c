/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests watchdogs: when they expire, the hook, and the report. */
#include "kernel/sync.h"
#include "kernel/watchdog.h"
#include "kernel_fixture.h"
#include <stdio.h>
#include <string.h>

static void note_time(struct watchdog *watchdog, void *argument)
{
    char word[48];

    (void)watchdog;
    CHECK(interrupt_context());
    (void)snprintf(word, sizeof word, "%s@%llu", (const char *)argument,
                   (unsigned long long)time_now());
    note(word);
}

static void init_fed(void)
{
    struct scheduler_statistics statistics;
    struct watchdog watchdog;
    uint64_t ticks;

    watchdog_init(&watchdog, "test", note_time, "hook");
    CHECK(!watchdog_feed(&watchdog)); /* not armed */
    CHECK(!watchdog_disarm(&watchdog));
    watchdog_arm(&watchdog, NULL, 100);
    for (unsigned i = 0; i < 100; i++) {
        host_clock_advance(10);
        CHECK(watchdog_feed(&watchdog));
    }
    scheduler_statistics(&statistics);
    CHECK(statistics.interrupts <= 11); /* one in each limit, none for a feed */
    host_clock_advance(99);
    CHECK_NOTES("");
    CHECK(watchdog_feed(&watchdog)); /* at 1099 */
    host_clock_advance(100);
    CHECK_NOTES("hook@1199");
    CHECK(!watchdog_feed(&watchdog)); /* expires once */
    CHECK(!watchdog_disarm(&watchdog));
    host_clock_advance(1000);
    CHECK_NOTES("");
    CHECK(!host_clock_alarm(&ticks));
}

static void init_disarm(void)
{
    struct watchdog watchdog;
    uint64_t ticks;

    watchdog_init(&watchdog, "test", note_time, "hook");
    watchdog_arm(&watchdog, NULL, 100);
    CHECK(watchdog_disarm(&watchdog));
    CHECK(!host_clock_alarm(&ticks));
    CHECK(!watchdog_feed(&watchdog));
    host_clock_advance(1000);
    CHECK_NOTES("");
    watchdog_arm(&watchdog, NULL, 1000);
    watchdog_arm(&watchdog, NULL, 10); /* a shorter limit counts from now */
    host_clock_advance(20);
    CHECK_NOTES("hook@1010");
}

static void arm_again(struct watchdog *watchdog, void *argument)
{
    note_time(watchdog, argument);
    watchdog_arm(watchdog, NULL, 100);
}

static void init_several(void)
{
    struct watchdog first;
    struct watchdog second;

    watchdog_init(&first, "first", note_time, "first");
    watchdog_init(&second, "second", arm_again, "second");
    watchdog_arm(&first, NULL, 150);
    watchdog_arm(&second, NULL, 100);
    host_clock_advance(320);
    CHECK_NOTES("second@100 first@150 second@200 second@300");
    CHECK(watchdog_disarm(&second));
}

/* An expired watchdog is unfed until it is armed again or disarmed, once for each of them. */
static void init_unfed(void)
{
    struct watchdog first;
    struct watchdog second;

    watchdog_init(&first, "first", note_time, "first");
    watchdog_init(&second, "second", note_time, "second");
    CHECK(watchdogs_are_fed());
    watchdog_arm(&first, NULL, 100);
    watchdog_arm(&second, NULL, 100);
    host_clock_advance(50);
    CHECK(watchdogs_are_fed());
    host_clock_advance(100);
    CHECK(!watchdogs_are_fed());
    watchdog_arm(&first, NULL, 100);
    CHECK(!watchdogs_are_fed());
    CHECK(!watchdog_disarm(&second));
    CHECK(watchdogs_are_fed());
    CHECK(!watchdog_disarm(&second));
    CHECK(watchdog_disarm(&first));
    CHECK(watchdogs_are_fed());
    CHECK_NOTES("first@100 second@100");
}

/* The limit passes while interrupts are masked: a feed comes too late. */
static void init_masked(void)
{
    struct watchdog watchdog;
    interrupt_state state;

    watchdog_init(&watchdog, "test", note_time, "hook");
    watchdog_arm(&watchdog, NULL, 100);
    state = interrupts_save();
    host_clock_advance(99);
    CHECK(watchdog_feed(&watchdog));
    host_clock_advance(100);
    CHECK(!watchdog_feed(&watchdog));
    CHECK_NOTES("");
    interrupts_restore(state);
    CHECK_NOTES("hook@199");
    /* Disarmed before the alarm is taken. */
    watchdog_arm(&watchdog, NULL, 100);
    state = interrupts_save();
    host_clock_advance(200);
    CHECK(watchdog_disarm(&watchdog));
    interrupts_restore(state);
    CHECK_NOTES("");
}

static void test_expiration(void **state)
{
    (void)state;
    kernel_run(init_unfed); /* first: others leave a watchdog that has expired */
    kernel_run(init_fed);
    kernel_run(init_disarm);
    kernel_run(init_several);
    kernel_run(init_masked);
}

static struct watchdog guard;
static struct mutex mutex;
static struct semaphore semaphore;

static void guard_thread(const struct thread *feeder)
{
    watchdog_init(&guard, "guard", NULL, NULL);
    watchdog_arm(&guard, feeder, 100);
}

static void lock_mutex(void *argument)
{
    (void)argument;
    guard_thread(NULL);
    (void)mutex_lock(&mutex, DEADLINE_NONE);
}

static void init_waits_for_mutex(void)
{
    mutex_init(&mutex);
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    (void)start("feeder", 40, lock_mutex, NULL);
    thread_sleep_until(1000);
}

static void wait_for_semaphore(void *argument)
{
    (void)argument;
    (void)semaphore_wait(&semaphore, DEADLINE_NONE);
}

static void init_waits_for_semaphore(void)
{
    semaphore_init(&semaphore, 0, 1);
    guard_thread(start("feeder", 40, wait_for_semaphore, NULL));
    host_clock_advance(100);
}

static void sleep_for(void *argument)
{
    thread_sleep_until(*(const uint64_t *)argument);
}

static void init_sleeps(void)
{
    uint64_t deadline = 150;

    guard_thread(start("feeder", 40, sleep_for, &deadline));
    host_clock_advance(100);
}

static void init_sleeps_for_ever(void)
{
    uint64_t deadline = DEADLINE_NONE;

    guard_thread(start("feeder", 40, sleep_for, &deadline));
    thread_sleep_until(1000);
}

static void init_starved(void)
{
    uint64_t deadline = DEADLINE_NONE;

    guard_thread(start("feeder", 10, sleep_for, &deadline));
    host_clock_advance(100);
}

static void init_loops(void)
{
    guard_thread(NULL);
    host_clock_advance(100);
}

static void do_nothing(void *argument)
{
    (void)argument;
}

static void init_ended(void)
{
    uint64_t deadline = DEADLINE_NONE;
    struct thread *thread = start("feeder", 10, do_nothing, NULL);

    guard_thread(thread);
    finish(thread); /* frees it */
    (void)start("later", 40, sleep_for, &deadline);
    host_clock_advance(100);
}

static void test_report(void **state)
{
    (void)state;
    kernel_panics(init_waits_for_mutex,
                  "watchdog guard: not fed for 100 ns; thread feeder, which feeds it, waits for "
                  "the mutex at 0x");
    kernel_panics(init_waits_for_mutex, ", which thread init holds; running: idle");
    kernel_panics(init_waits_for_semaphore,
                  "thread feeder, which feeds it, waits for the object whose queue is at 0x");
    kernel_panics(init_waits_for_semaphore, "; running: init");
    kernel_panics(init_sleeps, "sleeps for 50 ns more; running: init");
    kernel_panics(init_sleeps_for_ever, "sleeps for ever; running: idle");
    kernel_panics(init_starved, "is ready and does not get the processor; running: init");
    kernel_panics(init_loops, "thread init, which feeds it, runs; running: init");
    kernel_panics(init_ended, "thread feeder, which feeds it, has ended; running: init");
}

static void init_description(void)
{
    char text[WATCHDOG_TEXT_BYTES];
    struct watchdog watchdog;

    watchdog_init(&watchdog, "test", note_time, NULL);
    watchdog_arm(&watchdog, NULL, 100);
    memset(text, 'x', sizeof text);
    watchdog_describe(&watchdog, text, 14);
    CHECK(strcmp(text, "watchdog test") == 0);
    CHECK_EQUAL(text[14], 'x');
    CHECK(watchdog_disarm(&watchdog));
}

static void test_description_is_cut(void **state)
{
    (void)state;
    kernel_run(init_description);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expiration),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_description_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
