/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watchdogs. A feed only moves the deadline; the timer stays armed for an earlier one, and is armed
 * again when it expires. So a feed takes constant time, and costs one interrupt in each limit.
 */
#include "kernel/watchdog.h"

#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "panic/backtrace.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include <stdio.h>
#include <string.h>

#define ACTIVITY_BYTES ((size_t)128)

/* Number of watchdogs with `is_unfed`. Changed with interrupts masked. */
static int unfed;

/* Returns NULL if the thread has been freed. Interrupts masked. */
static const struct thread *find_thread(uint64_t number)
{
    LIST_FOR_EACH(node, &core_this()->threads)
    {
        const struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        if (thread->number == number) {
            return thread;
        }
    }
    return NULL;
}

/* The backtrace of a thread that runs is part of the panic's report. */
static _Noreturn void panic_unfed(const struct watchdog *watchdog)
{
    const struct thread *feeder = find_thread(watchdog->feeder_number);
    char text[WATCHDOG_TEXT_BYTES];

    watchdog_describe(watchdog, text, sizeof(text));
    if (feeder != NULL && (feeder->state == THREAD_BLOCKED || feeder->state == THREAD_READY)) {
        backtrace_print_thread(feeder);
    }
    panic("%s", text);
}

/* Notes whether the watchdog has expired, and was neither armed nor disarmed since. Interrupts
 * masked. */
static void set_unfed(struct watchdog *watchdog, bool is_unfed)
{
    if (watchdog->is_unfed != is_unfed) {
        watchdog->is_unfed = is_unfed;
        unfed += is_unfed ? 1 : -1;
    }
}

static void expire(struct watchdog *watchdog)
{
    watchdog->armed = false;
    if (watchdog->hook == NULL) {
        panic_unfed(watchdog);
    }
    set_unfed(watchdog, true);
    watchdog->hook(watchdog, watchdog->argument);
}

static void check(struct timer *timer, void *argument)
{
    struct watchdog *watchdog = argument;

    if (time_now() < watchdog->deadline) {
        timer_arm(timer, watchdog->deadline);
    } else {
        expire(watchdog);
    }
}

void watchdog_init(struct watchdog *watchdog, const char *name,
                   void (*hook)(struct watchdog *watchdog, void *argument), void *argument)
{
    *watchdog = (struct watchdog){.name = name, .hook = hook, .argument = argument};
    timer_init(&watchdog->timer, check, watchdog);
}

void watchdog_arm(struct watchdog *watchdog, const struct thread *feeder, uint64_t limit)
{
    const struct thread *thread = feeder == NULL ? thread_current() : feeder;
    interrupt_state state = interrupts_save();

    watchdog->limit = limit;
    watchdog->deadline = time_after(limit);
    watchdog->feeder_number = thread->number;
    memcpy(watchdog->feeder_name, thread->name, sizeof(watchdog->feeder_name));
    watchdog->armed = true;
    set_unfed(watchdog, false);
    timer_arm(&watchdog->timer, watchdog->deadline);
    interrupts_restore(state);
}

bool watchdog_feed(struct watchdog *watchdog)
{
    interrupt_state state = interrupts_save();
    bool in_time = watchdog->armed && time_now() < watchdog->deadline;

    if (in_time) {
        watchdog->deadline = time_after(watchdog->limit);
    }
    interrupts_restore(state);
    return in_time;
}

bool watchdog_disarm(struct watchdog *watchdog)
{
    interrupt_state state = interrupts_save();
    bool was_armed = watchdog->armed;

    watchdog->armed = false;
    set_unfed(watchdog, false);
    (void)timer_cancel(&watchdog->timer);
    interrupts_restore(state);
    return was_armed;
}

bool watchdogs_are_fed(void)
{
    return __atomic_load_n(&unfed, __ATOMIC_RELAXED) == 0;
}

static void describe_wait(const struct thread *thread, char text[ACTIVITY_BYTES])
{
    const struct thread_wait *wait = &thread->wait;

    if (wait->mutex != NULL) {
        (void)snprintf(text, ACTIVITY_BYTES, "waits for the mutex at %p, which thread %s holds",
                       (const void *)wait->mutex, thread_name(wait->mutex->owner));
    } else if (wait->queue != NULL) {
        (void)snprintf(text, ACTIVITY_BYTES, "waits for the object whose queue is at %p",
                       (const void *)wait->queue);
    } else if (wait->timer.armed) {
        (void)snprintf(text, ACTIVITY_BYTES, "sleeps for %llu ns more",
                       (unsigned long long)(wait->timer.deadline - time_now()));
    } else {
        (void)snprintf(text, ACTIVITY_BYTES, "sleeps for ever");
    }
}

static void describe_activity(const struct thread *thread, char text[ACTIVITY_BYTES])
{
    if (thread == NULL || thread->state == THREAD_FINISHED) {
        (void)snprintf(text, ACTIVITY_BYTES, "has ended");
    } else if (thread->state == THREAD_BLOCKED) {
        describe_wait(thread, text);
    } else if (thread->state == THREAD_READY) {
        (void)snprintf(text, ACTIVITY_BYTES, "is ready and does not get the processor");
    } else {
        (void)snprintf(text, ACTIVITY_BYTES, "runs");
    }
}

void watchdog_describe(const struct watchdog *watchdog, char *text, size_t capacity)
{
    interrupt_state state = interrupts_save();
    char activity[ACTIVITY_BYTES];

    describe_activity(find_thread(watchdog->feeder_number), activity);
    (void)snprintf(text, capacity,
                   "watchdog %s: not fed for %llu ns; thread %s, which feeds it, %s; running: %s",
                   watchdog->name, (unsigned long long)watchdog->limit, watchdog->feeder_name,
                   activity, thread_name(thread_current()));
    interrupts_restore(state);
}
