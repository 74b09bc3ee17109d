/* SPDX-License-Identifier: BSD-2-Clause */
/* Callbacks of timers in a thread. The alarm's interrupt only adds the timer to a list. */
#include "sched/timer_thread.h"

#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "time/timer.h"

void timer_thread_add(struct timer *timer, uint64_t due)
{
    struct timer_thread *timers = &core_this()->timer_thread;

    timer->last_expiration = due;
    if (timer->calls_due != 0 && timer->catch_up == TIMER_SKIP_MISSED) {
        timer->skipped++;
        return;
    }
    timer->calls_due++;
    if (timer->calls_due == 1) {
        list_push_back(&timers->expired, &timer->expired_node);
        (void)semaphore_post(&timers->expiring);
    }
}

/* Chooses the next call and returns its timer, NULL if no call is due. */
static struct timer *begin_call(struct timer_thread *timers)
{
    interrupt_state state = interrupts_save();
    struct list_node *node = list_pop_front(&timers->expired);
    struct timer *timer = NULL;

    if (node != NULL) {
        timer = CONTAINER_OF(node, struct timer, expired_node);
        timer->calls_due--;
        timer->due = timer->last_expiration - timer->calls_due * timer->period;
        if (timer->calls_due != 0) {
            list_push_back(&timers->expired, &timer->expired_node);
        }
    }
    timers->running = timer;
    interrupts_restore(state);
    return timer;
}

/* Makes the next call. Returns false if none is due. The timer may have been freed when its
 * callback has returned. */
static bool call_next(struct timer_thread *timers)
{
    struct timer *timer;

    (void)mutex_lock(&timers->calling, DEADLINE_NONE);
    timer = begin_call(timers);
    if (timer != NULL) {
        timer->callback(timer, timer->argument);
        timers->running = NULL;
    }
    (void)mutex_unlock(&timers->calling);
    return timer != NULL;
}

static void call_expired(void *argument)
{
    struct timer_thread *timers = argument;

    for (;;) {
        (void)semaphore_wait(&timers->expiring, DEADLINE_NONE);
        while (call_next(timers)) {
        }
    }
}

/* Not preemptible, so that only one thread creates it. */
static enum result create_thread(struct timer_thread *timers)
{
    const struct thread_attributes attributes = {.name = "timers",
                                                 .priority = TIMER_THREAD_PRIORITY,
                                                 .stack_bytes = TIMER_THREAD_STACK_BYTES};

    list_init(&timers->expired);
    semaphore_init(&timers->expiring, 0, 1);
    mutex_init(&timers->calling);
    return thread_create(&timers->thread, &attributes, call_expired, timers);
}

enum result timer_init_threaded(struct timer *timer,
                                void (*callback)(struct timer *timer, void *argument),
                                void *argument)
{
    struct timer_thread *timers = &core_this()->timer_thread;
    enum result result = RESULT_OK;

    timer_init(timer, callback, argument);
    timer->threaded = true;
    scheduler_preemption_disable();
    if (timers->thread == NULL) {
        result = create_thread(timers);
    }
    scheduler_preemption_enable();
    return result;
}

struct thread *timer_callback_thread(void)
{
    return core_this()->timer_thread.thread;
}

static bool is_running(const struct timer_thread *timers, const struct timer *timer)
{
    return timers->running == timer && thread_current() != timers->thread;
}

bool timer_cancel_wait(struct timer *timer)
{
    struct timer_thread *timers = &core_this()->timer_thread;
    bool was_armed = timer_cancel(timer);

    while (is_running(timers, timer)) {
        (void)mutex_lock(&timers->calling, DEADLINE_NONE);
        (void)mutex_unlock(&timers->calling);
        was_armed = timer_cancel(timer) || was_armed; /* the callback may have armed it */
    }
    return was_armed;
}
