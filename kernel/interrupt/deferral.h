/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deferral of interrupts that only wake a thread, the server. While a thread runs that is more
 * urgent than the server would be, they stay pending in the controller, and do not interrupt that
 * thread. The scheduler decides which of the two is more urgent, and defines the functions that are
 * not inline (sched/deferral.c). Interrupts masked in every call.
 */
#ifndef INTERRUPT_DEFERRAL_H
#define INTERRUPT_DEFERRAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

struct deferral {
    struct thread *server; /* NULL: no interrupt is ever deferred */
    bool active;           /* deferrable interrupts stay pending */
    uint64_t near_ticks;   /* see deferral_await_timer(); 0: there is no server */
};

/* Returns the deferral of the running core. The address never changes (one core), so calls may be
 * merged. sched/core.c, which owns the state of the core, defines the function. */
const struct deferral *deferral_this(void) __attribute__((const));

/* Defers the interrupts if the thread that runs next is more urgent than the server, otherwise ends
 * the deferral. There is a server. */
void deferral_choose(struct deferral *deferral, const struct thread *next);

/* Calls deferral_choose() if there is a server. Without one, this and the following functions do
 * nothing. */
static inline void deferral_follow(struct deferral *deferral, const struct thread *next)
{
    if (deferral->server != NULL) {
        deferral_choose(deferral, next);
    }
}

void deferral_choice_is_due(void);

/* Call it after the handlers of an interrupt. If a thread has to be chosen, defers interrupts until
 * that has happened, because the chosen thread may be more urgent than the server. */
static inline void deferral_after_handler(const struct deferral *deferral)
{
    if (deferral->server != NULL) {
        deferral_choice_is_due();
    }
}

/* Returns the time from which on a decision of the scheduling policy waits for a timer, as a
 * deferrable interrupt does. `timer_at`: counter value at which the timer is due. */
static inline uint64_t deferral_guard_of(const struct deferral *deferral, uint64_t timer_at)
{
    return timer_at > deferral->near_ticks ? timer_at - deferral->near_ticks : 0;
}

void deferral_await_near_timer(void);

/*
 * Call it when an interrupt was taken and is not acknowledged yet. If a timer is due within a
 * microsecond or so, waits until it is due, so that it is handled first. Otherwise the timer would
 * wait for the handlers of this interrupt, the choice and the switch, which take longer.
 */
static inline void deferral_await_timer(const struct deferral *deferral)
{
    if (deferral->server != NULL) {
        deferral_await_near_timer();
    }
}

#endif
