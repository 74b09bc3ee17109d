/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Without the boot argument `trace`: counts the instructions of an event, on a machine that can
 * count them, and fails if there are too many.
 *
 * With `trace`: threads with a known schedule, for tools/bulkhead/tracing. After `periods` periods
 * (0: never) it stops the trace and waits for a key. There are, in periods of 10 ms:
 *   loop    works for 1 ms in each period, and for 4 ms in every fourth. Its VCPU, "control", has a
 *           budget of 2 ms. It is the most urgent thread in the background, too
 *   worker  holds a mutex for 3 ms from 2 ms on
 *   waiter  more urgent than the worker, wants that mutex 1 ms later
 *   server  waits for a semaphore, which a timer posts every 5 ms
 */
#include "kernel/trace.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/vcpu.h"
#include "sched/thread_trace.h"
#include <arch/instructions.h>

#define ROUNDS           1000u
#define INSTRUCTIONS_MAX 40u /* of an event */
#define OFF_MAX          4u  /* of a point of the trace that is off: address, load, branch */

#define MILLISECOND NANOSECONDS_PER_MILLISECOND
#define PERIOD      (10 * MILLISECOND)
#define BUDGET      (2 * MILLISECOND)
#define STACK_BYTES ((size_t)8192)

static struct thread *start(const char *name, unsigned priority, void (*entry)(void *),
                            void *argument)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = priority, .stack_bytes = STACK_BYTES};
    struct thread *thread = NULL;

    if (thread_create(&thread, &attributes, entry, argument) != RESULT_OK) {
        print("FAIL: trace: no thread %s\n", name);
    }
    return thread;
}

static uint32_t count_loop(bool events)
{
    interrupt_state state = interrupts_save();
    uint32_t before = arch_instructions();

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (events) {
            trace_event(TRACE_INTERRUPT_ENTRY, i, 0);
        }
        __asm__ volatile("" ::: "memory");
    }
    uint32_t count = arch_instructions() - before;

    interrupts_restore(state);
    return count;
}

static struct semaphore ping, pong;

static void answer(void *argument)
{
    (void)argument;
    for (;;) {
        (void)semaphore_wait(&ping, DEADLINE_NONE);
        (void)semaphore_post(&pong);
    }
}

/* Counts the instructions of posts and waits that switch between two threads. */
static uint32_t count_switches(void)
{
    uint32_t before = arch_instructions();

    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)semaphore_post(&ping);
        (void)semaphore_wait(&pong, DEADLINE_NONE);
    }
    return arch_instructions() - before;
}

static int measure(void)
{
    uint32_t empty, off, on, switches_off, switches_on;
    uint64_t events;

    if (!arch_instructions_start()) {
        print("FAIL: trace: this machine does not count instructions\n");
        return 1;
    }
    semaphore_init(&ping, 0, 1);
    semaphore_init(&pong, 0, 1);
    (void)start("answer", thread_priority(thread_current()) - 1, answer, NULL);
    (void)count_switches();
    empty = count_loop(false);
    off = count_loop(true) - empty;
    switches_off = count_switches();
    if (trace_start(TRACE_EVENTS_MIN) != RESULT_OK) {
        print("FAIL: trace: it does not start\n");
        return 1;
    }
    on = count_loop(true) - empty;
    events = trace_ring->written;
    switches_on = count_switches();
    events = trace_ring->written - events;
    trace_stop();
    print("trace: %u.%02u instructions an event, %u.%02u while it is off\n", on / ROUNDS,
          on % ROUNDS / 10, off / ROUNDS, off % ROUNDS / 10);
    print("trace: %u instructions for %u events of switches: %u an event\n",
          switches_on - switches_off, (unsigned)events,
          (unsigned)((switches_on - switches_off) / events));
    if (on > INSTRUCTIONS_MAX * ROUNDS || off > OFF_MAX * ROUNDS || events < (uint64_t)4 * ROUNDS ||
        switches_on - switches_off > (uint64_t)INSTRUCTIONS_MAX * events) {
        print("FAIL: trace: too many instructions\n");
        return 1;
    }
    print("PASS\n");
    return 0;
}

static struct mutex shared;
static struct semaphore requests;
static uint64_t began;

/* Works for `nanoseconds` of the processor's time, if nothing more urgent runs. */
static void work(uint64_t nanoseconds)
{
    uint64_t until = time_now() + nanoseconds;

    while (time_now() < until) {
    }
}

static void miss(void)
{
    interrupt_state state = interrupts_save();

    trace_deadline_missed(thread_current());
    interrupts_restore(state);
}

static void loop(void *argument)
{
    (void)argument;
    for (uint64_t period = 1;; period++) {
        thread_sleep_until(began + period * PERIOD);
        if (period % 4 == 0) {
            work(2 * BUDGET);
            miss();
        } else {
            work(MILLISECOND);
        }
    }
}

static void worker(void *argument)
{
    (void)argument;
    for (uint64_t period = 1;; period++) {
        thread_sleep_until(began + period * PERIOD + 2 * MILLISECOND);
        (void)mutex_lock(&shared, DEADLINE_NONE);
        work(3 * MILLISECOND);
        (void)mutex_unlock(&shared);
    }
}

static void waiter(void *argument)
{
    (void)argument;
    for (uint64_t period = 1;; period++) {
        thread_sleep_until(began + period * PERIOD + 3 * MILLISECOND);
        (void)mutex_lock(&shared, DEADLINE_NONE);
        work(MILLISECOND / 2);
        (void)mutex_unlock(&shared);
    }
}

static void server(void *argument)
{
    (void)argument;
    for (;;) {
        (void)semaphore_wait(&requests, DEADLINE_NONE);
        work(MILLISECOND / 4);
    }
}

static void request(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    (void)semaphore_post(&requests);
}

int application_main(void)
{
    static struct timer timer;
    struct vcpu_param control = {
        .policy = SCHED_SPORADIC, .C = BUDGET, .T = PERIOD, .name = "control"};
    uint64_t periods;
    char word[16];

    if (!boot_argument("trace", word, sizeof(word))) {
        return measure();
    }
    periods = boot_argument_number("periods", 0, 0, UINT32_MAX);
    mutex_init(&shared);
    semaphore_init(&requests, 0, 1);
    began = time_now() / PERIOD * PERIOD + PERIOD;
    if (vcpu_bind_thread(start("loop", 40, loop, NULL), vcpu_create(&control)) != 0) {
        print("FAIL: trace: no VCPU\n");
    }
    (void)start("waiter", 30, waiter, NULL);
    (void)start("worker", 20, worker, NULL);
    (void)start("server", 25, server, NULL);
    timer_init(&timer, request, NULL);
    timer_arm_periodic(&timer, began + PERIOD, PERIOD / 2, TIMER_SKIP_MISSED);
    print("trace: begins\n");
    if (periods != 0) {
        thread_sleep_until(began + periods * PERIOD);
        trace_stop();
        print("trace: stopped\n");
    }
    (void)console_read(word, DEADLINE_NONE);
    return 0;
}
