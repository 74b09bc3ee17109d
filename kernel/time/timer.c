/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: the core's queue, and the hardware alarm, which is set to the earliest deadline or to the
 * scheduling policy's next decision, whichever comes first. */
#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "kernel/time.h"
#include "sched/core.h"
#include "time/clock.h"
#include "time/timer_queue.h"
#include "time/timer_thread.h"
#include <arch/cpu.h>

void time_set_alarm(const struct core *core)
{
    arch_clock_alarm(core->decision_at < core->timer_guard_at ? core->decision_at : core->timer_at);
}

static void update_timer_at(struct core *core)
{
    const struct timer *first = core->timers.root;

    core->timer_at = first == NULL ? POLICY_NEVER : clock_alarm_ticks(first->deadline);
    core->timer_guard_at = deferral_guard_of(&core->deferral, core->timer_at);
}

/* Sets the alarm after the earliest timer has changed. */
static void first_timer_changed(void)
{
    update_timer_at(core_this());
    time_set_alarm(core_this());
}

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument)
{
    *timer = (struct timer){.callback = callback, .argument = argument};
}

/* Arms the timer, and sets the alarm if this deadline is the earliest. Interrupts masked. */
static void arm(struct timer *timer, uint64_t deadline)
{
    struct timer_queue *queue = &core_this()->timers;
    bool was_first = queue->root == timer;

    if (timer->armed) {
        timer_queue_remove(queue, timer);
    }
    (void)timer_thread_drop(timer);
    timer->deadline = deadline;
    timer_queue_insert(queue, timer);
    if (was_first || queue->root == timer) {
        first_timer_changed();
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
    struct timer_queue *queue = &core_this()->timers;
    interrupt_state state = interrupts_save();
    bool was_armed = timer->armed;
    bool was_due = timer_thread_drop(timer);

    if (was_armed) {
        bool was_first = queue->root == timer;

        timer_queue_remove(queue, timer);
        if (was_first) {
            first_timer_changed();
        }
    }
    interrupts_restore(state);
    return was_armed || was_due;
}

/* Puts a due periodic timer back into the queue, with its next deadline. A deadline beyond the
 * clock's range is never reached. Returns the time at which this call was due. */
static uint64_t next_period(struct timer_queue *queue, struct timer *timer, uint64_t now)
{
    uint64_t due = timer->deadline;

    if (timer->catch_up == TIMER_SKIP_MISSED && now - due >= timer->period) {
        uint64_t missed = (now - due) / timer->period;

        due += missed * timer->period;
        timer->skipped += missed;
    }
    if (__builtin_add_overflow(due, timer->period, &timer->deadline)) {
        timer->deadline = UINT64_MAX;
    }
    timer_queue_insert(queue, timer);
    return due;
}

static void call(struct timer *timer, uint64_t due)
{
    timer->due = due;
    timer->callback(timer, timer->argument);
}

/* Not inline, so that other timers' callbacks, which end waits, are called sooner. */
__attribute__((noinline)) static void expire_special(struct core *core, struct timer *timer,
                                                     uint64_t ticks)
{
    uint64_t due = timer->deadline;

    if (timer->period != 0) {
        due = next_period(&core->timers, timer, clock_time(ticks));
    }
    if (timer->threaded) {
        timer_thread_add(&core->timer_thread, timer, due);
    } else {
        call(timer, due);
    }
}

/* Calls the callback, or lets the thread call it, of a timer that has been taken off the queue. */
static void expire(struct core *core, struct timer *timer, uint64_t ticks)
{
    if (timer->period != 0 || timer->threaded) {
        expire_special(core, timer, ticks);
    } else {
        call(timer, timer->deadline);
    }
}

/* Calls the callbacks of the timers that are due at `ticks`, a counter value that has reached
 * timer_at. So the first is due, and need not wait for the conversion of the time. */
static inline void expire_due(struct core *core, uint64_t ticks)
{
    struct timer_queue *queue = &core->timers;
    uint64_t sequence_end = queue->next_sequence;
    struct timer *timer = queue->root;
    uint64_t now;

    timer_queue_remove(queue, timer);
    expire(core, timer, ticks);
    now = clock_time(ticks);
    timer = timer_queue_pop_due(queue, now, sequence_end);
    while (timer != NULL) {
        expire(core, timer, ticks);
        timer = timer_queue_pop_due(queue, now, sequence_end);
    }
    update_timer_at(core);
}

void time_alarm(void)
{
    struct core *core = core_this();
    uint64_t ticks = arch_clock_ticks();

    /* First, because callbacks are to be called with little delay. */
    if (ticks >= core->timer_at) {
        expire_due(core, ticks);
    }
    if (ticks >= core->decision_at) {
        core->decision_at = POLICY_NEVER;
        core->reschedule = true; /* the policy chooses at the interrupt's exit */
    }
    time_set_alarm(core);
}
