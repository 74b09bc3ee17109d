/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time and timers. One unit everywhere: nanoseconds since boot, 64 bits (584 years).
 * The kernel is tickless: the hardware alarm is set to the earliest pending timer, and not set when
 * there is none.
 *
 * Blocking calls take an absolute deadline, so that retries do not stretch a time-out.
 */
#ifndef KERNEL_TIME_H
#define KERNEL_TIME_H

#include "kernel/list.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NANOSECONDS_PER_MICROSECOND UINT64_C(1000)
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)
#define NANOSECONDS_PER_SECOND      UINT64_C(1000000000)

/* Special deadlines. */
#define DEADLINE_POLL UINT64_C(0) /* never block */
#define DEADLINE_NONE UINT64_MAX  /* wait for ever */

/* Returns the nanoseconds since boot. Monotonic. Any context. */
uint64_t time_now(void);

/* Returns time_now() + `nanoseconds`, saturated below DEADLINE_NONE. Any context. */
uint64_t time_after(uint64_t nanoseconds);

/* The treatment of periods that passed while the interrupt of a periodic timer was masked. */
enum timer_catch_up {
    /* The default: one call for the latest period that is due; the earlier ones are counted in
     * `skipped`. The next call is at the next multiple of the period. With timer_init_threaded(),
     * periods that pass before the thread begins a call are skipped too. */
    TIMER_SKIP_MISSED,
    /* One call for each period, in order and without a pause until none is due. For callbacks that
     * count time. A callback that takes longer than its period leaves no time to threads. */
    TIMER_FIRE_EACH
};

struct thread;

/*
 * A timer, one-shot or periodic. The owner embeds it; it must stay valid while armed. The callback
 * runs in interrupt context with interrupts masked: it may arm timers (itself included), wake
 * threads and post to semaphores, event flags and message queues; it must not block. The callback
 * of a timer that timer_init_threaded() has set up runs in a thread.
 */
struct timer {
    uint64_t deadline; /* time of the next call, in nanoseconds since boot; valid while armed */
    void (*callback)(struct timer *timer, void *argument);
    void *argument;
    uint64_t due; /* valid in the callback: the time at which this call was due */
    /* Periodic timers only: */
    uint64_t period;  /* nanoseconds; 0: one-shot */
    uint64_t skipped; /* periods without a call, since the timer was armed */
    /* Private: position in the timer queue (time/timer_queue.h). */
    struct timer *parent;
    struct timer *left;
    struct timer *right;
    uint64_t sequence; /* equal deadlines expire in the order they were armed */
    /* Periodic timers only: */
    enum timer_catch_up catch_up;
    /* Private: */
    bool armed;
    bool threaded;
    /* Private, of threaded timers (sched/timer_thread.h): */
    struct list_node expired_node; /* linked while calls_due > 0 */
    uint64_t calls_due;            /* expirations whose callback has not begun */
    uint64_t last_expiration;      /* time at which the last of these calls was due */
    /* Private: which VCPU pays for the expirations (time/timer.h). */
    uint8_t armer;      /* id of the VCPU that armed the timer; 0: none */
    uint8_t payer;      /* id of the VCPU that paid for the latest one; 0: none */
    bool is_wait;       /* the callback wakes a thread, and nothing else */
    bool is_special;    /* the interrupt does not simply call the callback (time/timer.c) */
    uint64_t postponed; /* nanoseconds by which `deadline` is later than asked for */
};

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument);

/* Priority of the thread "timers": below the network driver's bottom half (48), above lwIP's timers
 * (40). */
#define TIMER_THREAD_PRIORITY    44u
#define TIMER_THREAD_STACK_BYTES ((size_t)16384)

/*
 * Sets up a timer whose callback is called by the thread "timers" instead of in an interrupt, so
 * that a long callback delays neither interrupts nor more urgent threads, and its time is charged
 * to a thread. The callback may do what a thread may do, except end the thread. All such callbacks
 * share the thread, which calls them one after the other in the order in which they became due: a
 * callback that blocks delays the others. The first call creates the thread. Returns RESULT_OK or
 * RESULT_NO_MEMORY. Thread context.
 */
enum result timer_init_threaded(struct timer *timer,
                                void (*callback)(struct timer *timer, void *argument),
                                void *argument);

/* Returns the thread "timers", to give it another priority for example; NULL before the first
 * timer_init_threaded(). Any context. */
struct thread *timer_callback_thread(void);

/* Arms or re-arms; a deadline in the past expires at once (from the alarm's interrupt).
 * Any context, O(log n). */
void timer_arm(struct timer *timer, uint64_t deadline);

/*
 * Arms or re-arms as a periodic timer: the callback is due at `first`, `first` + `period`, `first`
 * + 2 * `period` and so on, in nanoseconds since boot, until timer_cancel(), or timer_arm(), which
 * makes the timer a one-shot. `period` > 0 (else panic). `catch_up` determines the treatment of
 * late calls. The timer is armed for its next period before its callback is called, so that the
 * callback may cancel it. Any context, O(log n).
 */
void timer_arm_periodic(struct timer *timer, uint64_t first, uint64_t period,
                        enum timer_catch_up catch_up);

/*
 * Disarms. Returns true if the timer was armed or, with timer_init_threaded(), if a call was due
 * that the thread has not begun; that call is cancelled. The callback does not start after the
 * return. A call that the thread "timers" has begun already, even if it was preempted before its
 * first instruction, goes on: use timer_cancel_wait() before the timer's memory is reused. Any
 * context.
 */
bool timer_cancel(struct timer *timer);

/*
 * Does the same, and waits until a callback that runs has returned. After that the timer is not
 * used any more, even if the callback has armed it again. The thread "timers" inherits the caller's
 * priority meanwhile. In the timer's own callback it does not wait. The caller must not hold a
 * mutex that the callback locks. Thread context; panics if it would block inside a critical section
 * (interrupts_save()).
 */
bool timer_cancel_wait(struct timer *timer);

#endif
