/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses doubles in C in threads that are preempted by interrupts and by each other, and in interrupt
 * handlers. No thread is created with .floating_point: a thread gets the registers at its first use
 * of one.
 */
#include "check_threads.h"
#include "kernel/application.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "run_checks.h"
#include <libc/internet_checksum.h>
#include <stdio.h>
#include <string.h>

#define WORKERS 4u
#define STEPS   200000u
#define ROUNDS  4u /* that are enough, of handlers and of threads */

/* The logistic map: each step depends on every bit of all before it. */
static double iterate(double value, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        value = 3.99 * value * (1.0 - value);
    }
    return value;
}

struct work {
    double first;
    double result;
    bool yields;
};

static void work(void *argument)
{
    struct work *work = argument;
    double value = work->first;

    for (unsigned i = 0; i < STEPS / 1000; i++) {
        value = iterate(value, 1000);
        if (work->yields) {
            thread_yield();
        }
    }
    work->result = value;
}

/* Results of the timer's callback, which runs in interrupt context. */
static struct {
    double sum;
    uint64_t count;
    uint16_t checksum;
} handler;

static uint8_t block[1000];

static void sum_harmonics(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    handler.count++;
    handler.sum += 1.0 / (double)handler.count;
    handler.checksum = internet_checksum(block, sizeof block);
}

static double harmonics(uint64_t count)
{
    double sum = 0;

    for (uint64_t i = 1; i <= count; i++) {
        sum += 1.0 / (double)i;
    }
    return sum;
}

static void start_handler(struct timer *timer)
{
    handler.sum = 0;
    handler.count = 0;
    timer_init(timer, sum_harmonics, NULL);
    timer_arm_periodic(timer, time_after(0), 50 * NANOSECONDS_PER_MICROSECOND, TIMER_SKIP_MISSED);
}

/* Sleeps until there were enough rounds. If others execute on this core for a while, the timer
 * skips what it missed, and there are too few in the first sleep. */
static void sleep_for_rounds(const volatile uint64_t *rounds, uint64_t nanoseconds)
{
    do {
        thread_sleep_until(time_after(nanoseconds));
    } while (*rounds < ROUNDS);
}

static bool handler_was_right(struct timer *timer)
{
    CHECK(timer_cancel(timer));
    CHECK(handler.count >= ROUNDS);
    CHECK(handler.sum == harmonics(handler.count));
    CHECK(handler.checksum == internet_checksum(block, sizeof block));
    return true;
}

/* Threads that take turns, and are interrupted by handlers that use the registers as well, compute
 * the same numbers as one thread alone. */
static bool threads_compute_the_same(void)
{
    static struct work works[WORKERS];
    struct thread *threads[WORKERS];
    struct timer timer;

    start_handler(&timer);
    for (unsigned i = 0; i < WORKERS; i++) {
        works[i] = (struct work){.first = 0.1 + 0.2 * i, .yields = i != 0};
        threads[i] = start_thread("worker", OWN - 1 - i / 2, false, work, &works[i]);
        CHECK(threads[i] != NULL);
    }
    /* This thread has the highest priority, so each wake-up preempts the running thread. */
    for (unsigned i = 0; i < 100; i++) {
        double value = iterate(0.4, 100);

        thread_sleep_until(time_after(200 * NANOSECONDS_PER_MICROSECOND));
        CHECK(value == iterate(0.4, 100));
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(join_thread(threads[i]));
    }
    CHECK(handler_was_right(&timer));
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(works[i].result == iterate(0.1 + 0.2 * i, STEPS));
    }
    return true;
}

static struct {
    volatile bool stop;
    uint64_t changed;
    uint64_t rounds;
} registers;

/* Holds values in all 32 registers, and in FPCR a rounding mode that differs from thread to
 * thread. */
static void hold(void *argument)
{
    while (!registers.stop) {
        registers.changed += hold_registers((uintptr_t)argument, 20);
        registers.rounds++;
        thread_yield();
    }
}

static bool registers_survive_handlers(void)
{
    struct thread *threads[3];
    struct timer timer;

    registers.stop = false;
    registers.changed = 0;
    registers.rounds = 0;
    start_handler(&timer);
    for (uintptr_t i = 0; i < 3; i++) {
        threads[i] =
            start_thread("hold", OWN - 1, false, hold, (void *)(uintptr_t)(0x1234567800000000 + i));
        CHECK(threads[i] != NULL);
    }
    sleep_for_rounds(&registers.rounds, 100 * NANOSECONDS_PER_MILLISECOND);
    sleep_for_rounds(&handler.count, NANOSECONDS_PER_MILLISECOND);
    registers.stop = true;
    for (unsigned i = 0; i < 3; i++) {
        CHECK(join_thread(threads[i]));
    }
    CHECK(handler_was_right(&timer));
    CHECK(registers.changed == 0);
    return true;
}

/* A handler that uses the registers while a thread runs that never did. */
static bool handlers_compute_alone(void)
{
    static volatile bool stop;
    struct thread *thread;
    struct timer timer;

    stop = false;
    thread = start_thread("integers", OWN - 1, false, spin_until_set, (void *)(uintptr_t)&stop);
    CHECK(thread != NULL);
    start_handler(&timer);
    sleep_for_rounds(&handler.count, 5 * NANOSECONDS_PER_MILLISECOND);
    stop = true;
    CHECK(join_thread(thread));
    CHECK(handler_was_right(&timer));
    return true;
}

/* A new thread's registers are 0 even if another thread has used them. */
static double first_values[2] = {1, 1};

static void look_at_registers(void *argument)
{
    double low;
    double high;

    (void)argument;
    __asm__ volatile("fmov %d0, d8\n\tfmov %d1, d31" : "=w"(low), "=w"(high));
    first_values[0] = low;
    first_values[1] = high;
}

static bool threads_begin_with_zeros(void)
{
    struct thread *thread;

    CHECK(hold_registers(0x7777777700000000, 1) == 0);
    thread = start_thread("new", OWN + 1, false, look_at_registers, NULL);
    CHECK(thread != NULL && join_thread(thread));
    CHECK(first_values[0] == 0 && first_values[1] == 0);
    return true;
}

/* A variadic function of a program has doubles in its list without further ado. */
static int format_list(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int format_list(char *text, size_t bytes, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, bytes, format, arguments);

    va_end(arguments);
    return length;
}

/* volatile: the compiler must not format at compile time. */
static const volatile double third = 1.0 / 3;
static const volatile double large = 1e300;
static const volatile double infinite = __builtin_inf();

static bool doubles_are_formatted(void)
{
    char text[400];

    CHECK(snprintf(text, sizeof text, "%f %s %.3e %d %g", third, "and", third, 7, 2.5) == 28);
    CHECK(strcmp(text, "0.333333 and 3.333e-01 7 2.5") == 0);
    CHECK(format_list(text, sizeof text, "%+08.2f|%-8G|%F", third, third, infinite) == 21);
    CHECK(strcmp(text, "+0000.33|0.333333|INF") == 0);
    CHECK(snprintf(text, sizeof text, "%.17g %.0f %.0f", large, 0.5, 1.5) == 27);
    CHECK(strcmp(text, "1.0000000000000001e+300 0 2") == 0);
    CHECK(snprintf(text, sizeof text, "%f", large) == 308);
    /* More than there are registers for: the rest lies on the stack. */
    CHECK(snprintf(text, sizeof text, "%g %g %g %g %g %g %g %g %d %g %g %d %d %d", 0.5, 1.5, 2.5,
                   3.5, 4.5, 5.5, 6.5, 7.5, 1, 8.5, 9.5, 2, 3, 4) > 0);
    CHECK(strcmp(text, "0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 1 8.5 9.5 2 3 4") == 0);
    print("a third: %f, %d times %e\n", third, 3, third);
    return true;
}

/* Results of format_in_handler(). */
static struct {
    char text[32];
    volatile bool done;
} handler_text;

static void format_in_handler(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    (void)snprintf(handler_text.text, sizeof handler_text.text, "%.3f %d", third * 2, 5);
    handler_text.done = true;
}

/* In a handler that interrupts a thread whose registers are in use. */
static bool handlers_format(void)
{
    struct timer timer;
    double sum = 0;

    handler_text.done = false;
    timer_init(&timer, format_in_handler, NULL);
    timer_arm(&timer, time_after(NANOSECONDS_PER_MILLISECOND));
    do {
        sum += third;
    } while (!handler_text.done);
    CHECK(sum > 0);
    CHECK(strcmp(handler_text.text, "0.667 5") == 0);
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"handlers compute alone", handlers_compute_alone},
        {"threads compute the same", threads_compute_the_same},
        {"registers survive handlers", registers_survive_handlers},
        {"threads begin with zeros", threads_begin_with_zeros},
        {"doubles are formatted", doubles_are_formatted},
        {"handlers format", handlers_format},
    };

    for (unsigned i = 0; i < sizeof block; i++) {
        block[i] = (uint8_t)(i * 13);
    }
    return run_checks(checks, sizeof checks / sizeof checks[0]);
}
