/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: arming and cancelling them, and the calls of their callbacks. */
#include "time/timer.h"

#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "time/clock.h"
#include <arch/cpu.h>

uint64_t timers_due_at(const struct timer_queue *timers)
{
    const struct timer *first = timers->root;

    return first == NULL ? UINT64_MAX : clock_alarm_ticks(first->deadline);
}

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument)
{
    *timer = (struct timer){.callback = callback, .argument = argument};
}

/* Cancels the calls of a threaded timer that are due and have not begun. Returns true if there were
 * any. Interrupts masked. */
static bool drop_calls(struct timer *timer)
{
    bool was_due = timer->calls_due != 0;

    if (was_due) {
        list_remove(&timer->expired_node);
        timer->calls_due = 0;
    }
    return was_due;
}

/* Arms the timer, and sets the alarm if this deadline is the earliest. Interrupts masked. */
static void arm(struct timer *timer, uint64_t deadline)
{
    struct timer_queue *queue = timers_this();
    bool was_first = queue->root == timer;

    if (timer->armed) {
        timer_queue_remove(queue, timer);
    }
    (void)drop_calls(timer);
    if (!timer->is_wait) {
        timer->armer = timers_armer(timer->armer);
        timer->postponed = 0;
        timer->is_special = timer->period != 0 || timer->threaded || timer->payer != 0;
    }
    timer->deadline = deadline;
    timer_queue_insert(queue, timer);
    if (was_first || queue->root == timer) {
        timers_first_changed();
    }
}

void timer_arm(struct timer *timer, uint64_t deadline)
{
    interrupt_state state = interrupts_save();

    timer->period = 0;
    arm(timer, deadline);
    interrupts_restore(state);
}

void timer_arm_periodic(struct timer *timer, uint64_t first, uint64_t period,
                        enum timer_catch_up catch_up)
{
    interrupt_state state;

    if (period == 0) {
        panic("a periodic timer was armed with a period of 0");
    }
    state = interrupts_save();
    timer->period = period;
    timer->catch_up = catch_up;
    timer->skipped = 0;
    arm(timer, first);
    interrupts_restore(state);
}

bool timer_cancel(struct timer *timer)
{
    struct timer_queue *queue = timers_this();
    interrupt_state state = interrupts_save();
    bool was_armed = timer->armed;
    bool was_due = drop_calls(timer);

    if (was_armed) {
        bool was_first = queue->root == timer;

        timer_queue_remove(queue, timer);
        if (was_first) {
            timers_first_changed();
        }
    }
    interrupts_restore(state);
    return was_armed || was_due;
}

/* Returns the time at which the timer was due, before it was postponed. */
static uint64_t due_time(const struct timer *timer)
{
    return timer->deadline - timer->postponed;
}

/* Puts a due timer back into the queue, for the time at which its VCPU has budget again. */
static void postpone(struct timer_queue *queue, struct timer *timer, uint64_t until)
{
    timer->postponed += until - timer->deadline;
    timer->deadline = until;
    timer_queue_insert(queue, timer);
}

/* Puts a due periodic timer back into the queue, with its next deadline. A deadline beyond the
 * clock's range is never reached. Returns the time at which this call was due. */
static uint64_t next_period(struct timer_queue *queue, struct timer *timer, uint64_t now)
{
    uint64_t due = due_time(timer);

    if (timer->catch_up == TIMER_SKIP_MISSED && now - due >= timer->period) {
        uint64_t missed = (now - due) / timer->period;

        due += missed * timer->period;
        timer->skipped += missed;
    }
    if (__builtin_add_overflow(due, timer->period, &timer->deadline)) {
        timer->deadline = UINT64_MAX;
    }
    timer->postponed = 0;
    timer_queue_insert(queue, timer);
    return due;
}

static void call(struct timer *timer, uint64_t due)
{
    timer->due = due;
    timer->callback(timer, timer->argument);
}

/* A callback has returned. Names the payer of the interrupt, which may have to wait for its budget
 * the next time. */
static void pay(struct timer *timer)
{
    timer->payer = timers_pay(timer->armer);
    if (timer->payer != 0) {
        timer->is_special = true;
    }
}

/* Expires a timer that is periodic or threaded, or whose payer may have no budget. Not inline, so
 * that the callbacks of other timers are called sooner. */
__attribute__((noinline)) static void expire_special(struct timer_queue *queue, struct timer *timer,
                                                     uint64_t ticks)
{
    uint64_t due = due_time(timer);
    uint64_t until = timer->payer == 0 ? 0 : timers_wait_for(timer->payer);

    if (until > timer->deadline) {
        postpone(queue, timer, until);
        return;
    }
    if (timer->period != 0) {
        due = next_period(queue, timer, clock_time(ticks));
    }
    if (timer->threaded) {
        timer_thread_add(timer, due);
    } else {
        call(timer, due);
    }
    pay(timer);
}

/* Calls the callback, or lets the thread call it, of a timer that has been taken off the queue.
 * `due_at`: the counter value at which it was due. */
static inline void expire(struct timer_queue *queue, struct timer *timer, uint64_t due_at,
                          uint64_t ticks)
{
    if (timer->is_special) {
        expire_special(queue, timer, ticks);
    } else if (timer->is_wait) {
        queue->wait_ended_at = due_at;
        call(timer, timer->deadline);
        queue->wait_ended_at = UINT64_MAX;
    } else {
        call(timer, timer->deadline);
        pay(timer);
    }
}

/* The first timer is due, and need not wait for the conversion of the time. Of several timers, each
 * is charged alone, unless all of them end waits: threads that are woken are told apart anyway. */
void timers_expire(struct timer_queue *timers, uint64_t due_at, uint64_t ticks)
{
    uint64_t sequence_end = timers->next_sequence;
    struct timer *timer = timers->root;
    bool are_waits = timer->is_wait;
    uint64_t now;

    timer_queue_remove(timers, timer);
    expire(timers, timer, due_at, ticks);
    now = clock_time(ticks);
    timer = timer_queue_pop_due(timers, now, sequence_end);
    while (timer != NULL) {
        are_waits = are_waits && timer->is_wait;
        if (!are_waits) {
            timers_next();
        }
        expire(timers, timer, clock_alarm_ticks(timer->deadline), ticks);
        timer = timer_queue_pop_due(timers, now, sequence_end);
    }
}
