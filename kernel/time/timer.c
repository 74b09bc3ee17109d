/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers on the core's queue, and the alarm that follows the earliest of them. */
#include "arch/cpu.h"
#include "kernel/interrupt.h"
#include "kernel/time.h"
#include "sched/core.h"
#include "time/clock.h"
#include "time/timer_queue.h"

static void set_alarm(const struct timer_queue *queue)
{
    if (queue->root == NULL) {
        arch_clock_alarm_off();
    } else {
        arch_clock_alarm(clock_alarm_ticks(queue->root->deadline));
    }
}

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument)
{
    *timer = (struct timer){.callback = callback, .argument = argument};
}

void timer_arm(struct timer *timer, uint64_t deadline)
{
    struct timer_queue *queue = &core_this()->timers;
    interrupt_state state = interrupts_save();
    bool was_first = queue->root == timer;

    if (timer->armed) {
        timer_queue_remove(queue, timer);
    }
    timer->deadline = deadline;
    timer_queue_insert(queue, timer);
    if (was_first || queue->root == timer) {
        set_alarm(queue);
    }
    interrupts_restore(state);
}

bool timer_cancel(struct timer *timer)
{
    struct timer_queue *queue = &core_this()->timers;
    interrupt_state state = interrupts_save();
    bool was_armed = timer->armed;

    if (was_armed) {
        bool was_first = queue->root == timer;

        timer_queue_remove(queue, timer);
        if (was_first) {
            set_alarm(queue);
        }
    }
    interrupts_restore(state);
    return was_armed;
}

void time_alarm(void)
{
    struct timer_queue *queue = &core_this()->timers;
    interrupt_state state = interrupts_save();
    uint64_t now = time_now();
    uint64_t sequence_end = queue->next_sequence;
    struct timer *timer = timer_queue_pop_due(queue, now, sequence_end);

    while (timer != NULL) {
        timer->callback(timer, timer->argument);
        timer = timer_queue_pop_due(queue, now, sequence_end);
    }
    set_alarm(queue);
    interrupts_restore(state);
}
