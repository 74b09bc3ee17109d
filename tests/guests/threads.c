/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests threads on the guest's processor in cases that unit tests on the host cannot show:
 * interrupts that preempt, the processor's registers, and guard pages.
 */
#include "check_threads.h"
#include "kernel/application.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "run_checks.h"
#include <libc/internet_checksum.h>

#define COUNT       8u
#define MILLISECOND NANOSECONDS_PER_MILLISECOND

/* The order in which the threads of a check ran: each adds its number. */
static struct {
    uintptr_t order[64];
    unsigned count;
} notes;

static void note(void *argument)
{
    notes.order[notes.count++] = (uintptr_t)argument;
}

static bool interrupts_preempt(void)
{
    static volatile bool stop;
    struct thread *spinner;
    uint64_t deadline = time_after(5 * MILLISECOND);

    stop = false;
    spinner = start_thread("spinner", OWN - 1, false, spin_until_set, (void *)(uintptr_t)&stop);
    CHECK(spinner != NULL);
    thread_sleep_until(deadline); /* the spinner never gives up the processor by itself */
    CHECK(time_now() >= deadline);
    stop = true;
    CHECK(join_thread(spinner));
    return true;
}

static bool urgent_threads_run_first(void)
{
    static const unsigned priorities[COUNT] = {5, 9, 1, 30, 9, 2, 30, 31};
    static const uintptr_t expected[COUNT] = {7, 3, 6, 1, 4, 0, 5, 2};
    struct thread *threads[COUNT];

    notes.count = 0;
    for (uintptr_t i = 0; i < COUNT; i++) {
        threads[i] = start_thread("noter", priorities[i], false, note, (void *)i);
        CHECK(threads[i] != NULL);
    }
    CHECK(notes.count == 0);
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(join_thread(threads[i]));
    }
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(notes.order[i] == expected[i]);
    }
    threads[0] = start_thread("urgent", OWN + 1, false, note, (void *)(uintptr_t)99);
    CHECK(threads[0] != NULL && notes.order[COUNT] == 99);
    CHECK(join_thread(threads[0]));
    return true;
}

static struct {
    uint64_t start;
    bool early;
} sleepers;

static void sleep_and_note(void *argument)
{
    uint64_t deadline = sleepers.start + (uintptr_t)argument * MILLISECOND;

    thread_sleep_until(deadline);
    sleepers.early |= time_now() < deadline;
    note(argument);
}

/* Returns true if all threads slept before the first deadline. On an emulated core that the host
 * did not run for a while, a thread can be too late to sleep at all. */
static bool start_sleepers(struct thread *threads[COUNT], uint64_t delay)
{
    static const uintptr_t milliseconds[COUNT] = {13, 3, 8, 5, 17, 10, 6, 4};

    notes.count = 0;
    sleepers.early = false;
    sleepers.start = time_after(delay);
    for (unsigned i = 0; i < COUNT; i++) {
        threads[i] =
            start_thread("sleeper", OWN + 1, false, sleep_and_note, (void *)milliseconds[i]);
    }
    return time_now() < sleepers.start;
}

static bool sleepers_wake_in_order(void)
{
    struct thread *threads[COUNT];
    uint64_t delay = MILLISECOND;
    bool all_slept;

    do {
        all_slept = start_sleepers(threads, delay);
        delay *= 4;
        for (unsigned i = 0; i < COUNT; i++) {
            CHECK(threads[i] != NULL && join_thread(threads[i]));
        }
        CHECK(!sleepers.early);
    } while (!all_slept);
    for (unsigned i = 1; i < COUNT; i++) {
        CHECK(notes.order[i - 1] < notes.order[i]);
    }
    return true;
}

/* The low thread holds the mutex for which the high one waits. Without priority inheritance the
 * medium thread would run for ever. */
static struct {
    struct mutex mutex;
    struct semaphore locked;
    volatile bool high_done;
} inheritance;

static void low(void *argument)
{
    (void)argument;
    (void)mutex_lock(&inheritance.mutex, DEADLINE_NONE);
    (void)semaphore_post(&inheritance.locked);
    thread_sleep_until(time_after(2 * MILLISECOND));
    (void)mutex_unlock(&inheritance.mutex);
}

static void high(void *argument)
{
    (void)argument;
    if (mutex_lock(&inheritance.mutex, time_after(10 * NANOSECONDS_PER_SECOND)) == RESULT_OK) {
        (void)mutex_unlock(&inheritance.mutex);
    }
    inheritance.high_done = true;
}

static void medium(void *argument)
{
    bool *seen = argument;
    uint64_t end = time_after(5 * NANOSECONDS_PER_SECOND);

    while (!inheritance.high_done && time_now() < end) {
    }
    *seen = inheritance.high_done;
}

static bool mutex_holder_inherits(void)
{
    static bool seen;
    struct thread *threads[3];

    mutex_init(&inheritance.mutex);
    semaphore_init(&inheritance.locked, 0, 1);
    inheritance.high_done = false;
    threads[0] = start_thread("low", OWN - 3, false, low, NULL);
    CHECK(semaphore_wait(&inheritance.locked, DEADLINE_NONE) == RESULT_OK);
    threads[1] = start_thread("high", OWN - 1, false, high, NULL);
    threads[2] = start_thread("medium", OWN - 2, false, medium, &seen);
    CHECK(threads[0] != NULL && threads[1] != NULL && threads[2] != NULL);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(join_thread(threads[i]));
    }
    CHECK(seen);
    return true;
}

static void post(struct timer *timer, void *argument)
{
    (void)timer;
    (void)semaphore_post(argument);
}

static bool interrupts_post_semaphores(void)
{
    static struct semaphore semaphore;
    static struct timer timer;

    semaphore_init(&semaphore, 0, 1000);
    timer_init(&timer, post, &semaphore);
    timer_arm_periodic(&timer, time_after(0), 200 * NANOSECONDS_PER_MICROSECOND, TIMER_SKIP_MISSED);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(semaphore_wait(&semaphore, time_after(NANOSECONDS_PER_SECOND)) == RESULT_OK);
    }
    CHECK(timer_cancel(&timer));
    while (semaphore_wait(&semaphore, DEADLINE_POLL) == RESULT_OK) {
    }
    CHECK(semaphore_wait(&semaphore, time_after(2 * MILLISECOND)) == RESULT_TIMED_OUT);
    return true;
}

#define MESSAGES 10000u

static void send_numbers(void *argument)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        (void)message_queue_send(argument, &i, DEADLINE_NONE);
    }
}

static bool messages_arrive_in_order(void)
{
    static struct message_queue queue;
    static uint32_t storage[5];
    static const unsigned priorities[] = {OWN - 1, OWN, OWN + 1};

    for (unsigned round = 0; round < 3; round++) {
        struct thread *sender;
        uint32_t number;

        message_queue_init(&queue, storage, sizeof storage[0], 5);
        sender = start_thread("sender", priorities[round], false, send_numbers, &queue);
        CHECK(sender != NULL);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            CHECK(message_queue_receive(&queue, &number, DEADLINE_NONE) == RESULT_OK);
            CHECK(number == i);
        }
        CHECK(join_thread(sender));
        CHECK(message_queue_receive(&queue, &number, DEADLINE_POLL) == RESULT_TIMED_OUT);
    }
    return true;
}

static void live_shortly(void *argument)
{
    uint64_t *sum = argument;
    interrupt_state state;

    thread_sleep_until(time_after((*sum % 7) * 50 * NANOSECONDS_PER_MICROSECOND));
    state = interrupts_save();
    *sum += 1;
    interrupts_restore(state);
}

#define CROWD  32u
#define ROUNDS 30u

static bool threads_come_and_go(void)
{
    static uint64_t sum;
    struct thread *threads[CROWD];
    struct memory_statistics first;
    struct memory_statistics last;

    sum = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CROWD; i++) {
            threads[i] =
                start_thread("crowd", 1 + (i * 7 + round) % 60, i % 3 == 0, live_shortly, &sum);
            CHECK(threads[i] != NULL);
        }
        for (unsigned i = 0; i < CROWD; i++) {
            CHECK(join_thread(threads[i]));
        }
        memory_statistics(round == 0 ? &first : &last);
    }
    CHECK(sum == (uint64_t)CROWD * ROUNDS);
    CHECK(first.page_used_bytes == last.page_used_bytes);
    CHECK(first.heap_used_bytes == last.heap_used_bytes);
    return true;
}

static struct {
    volatile bool stop;
    uint64_t changed;
    uint64_t rounds;
} registers;

static void hold_and_sleep(void *argument)
{
    while (!registers.stop) {
        registers.changed += hold_registers((uintptr_t)argument, 3);
        thread_sleep_until(time_after(100 * NANOSECONDS_PER_MICROSECOND));
        registers.rounds++;
    }
}

static void hold_and_yield(void *argument)
{
    while (!registers.stop) {
        registers.changed += hold_registers((uintptr_t)argument, 20);
        thread_yield();
    }
}

/* internet_checksum() saves and uses floating-point registers (libc/arm64/internet_checksum.S). */
static void sum_up(void)
{
    static uint8_t from[5000];
    static uint8_t to[sizeof(from)];

    (void)internet_checksum_copy(to, from, sizeof(from));
}

static void sum_until_stop(void *argument)
{
    (void)argument;
    while (!registers.stop) {
        sum_up();
        thread_yield();
    }
}

static bool registers_survive(void)
{
    struct thread *threads[6];

    registers.stop = false;
    registers.changed = 0;
    registers.rounds = 0;
    threads[0] = start_thread("hold 0", OWN - 1, true, hold_and_sleep,
                              (void *)(uintptr_t)0x1111111100000000);
    threads[1] = start_thread("hold 1", OWN - 2, true, hold_and_sleep,
                              (void *)(uintptr_t)0x2222222200000001);
    threads[2] = start_thread("hold 2", OWN - 3, true, hold_and_yield,
                              (void *)(uintptr_t)0x3333333300000002);
    threads[3] = start_thread("hold 3", OWN - 3, true, hold_and_yield,
                              (void *)(uintptr_t)0x4444444400000003);
    threads[4] =
        start_thread("spinner", OWN - 4, false, spin_until_set, (void *)(uintptr_t)&registers.stop);
    threads[5] = start_thread("sums", OWN - 3, false, sum_until_stop, NULL);
    for (unsigned i = 0; i < 20; i++) {
        thread_sleep_until(time_after(10 * MILLISECOND));
        CHECK(hold_registers(0x5555555500000000, 5) == 0);
        CHECK(hold_vectors(0x6666666600000000, sum_up) == 0);
    }
    registers.stop = true;
    for (unsigned i = 0; i < 6; i++) {
        CHECK(threads[i] != NULL && join_thread(threads[i]));
    }
    CHECK(registers.changed == 0);
    CHECK(registers.rounds > 20);
    return true;
}

static bool statistics_add_up(void)
{
    static struct thread_statistics threads[8];
    size_t count = thread_statistics(threads, 8);
    bool own = false;

    CHECK(count == 3); /* "init", "idle", "console": all others have been joined */
    for (size_t i = 0; i < count; i++) {
        own |= threads[i].state == THREAD_RUNNING && threads[i].base_priority == OWN;
        CHECK(threads[i].run_nanoseconds > 0 && threads[i].switches > 0);
        CHECK(threads[i].stack_used_bytes > 0 &&
              threads[i].stack_used_bytes < threads[i].stack_bytes);
        print("%-15s %5zu of %zu bytes of stack\n", threads[i].name, threads[i].stack_used_bytes,
              threads[i].stack_bytes);
    }
    CHECK(own);
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"interrupts preempt", interrupts_preempt},
        {"urgent threads run first", urgent_threads_run_first},
        {"sleepers wake in order", sleepers_wake_in_order},
        {"mutex holder inherits", mutex_holder_inherits},
        {"interrupts post semaphores", interrupts_post_semaphores},
        {"messages arrive in order", messages_arrive_in_order},
        {"threads come and go", threads_come_and_go},
        {"registers survive", registers_survive},
        {"statistics add up", statistics_add_up},
    };

    return run_checks(checks, sizeof checks / sizeof checks[0]);
}
