/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel/time.h of our own kernel as far as lwIP's port uses it. Time is RTEMS's uptime;
 * what waits or expires does so at the next clock tick.
 */
#ifndef KERNEL_TIME_H
#define KERNEL_TIME_H

#include <rtems.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NANOSECONDS_PER_MICROSECOND UINT64_C(1000)
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)
#define NANOSECONDS_PER_SECOND      UINT64_C(1000000000)

#define DEADLINE_POLL UINT64_C(0) /* never block */
#define DEADLINE_NONE UINT64_MAX  /* wait for ever */

uint64_t time_now(void);                   /* any context */
uint64_t time_after(uint64_t nanoseconds); /* any context */

/* Takes one of the application's CONFIGURE_MAXIMUM_TIMERS. The callback runs in interrupt
 * context. */
struct timer {
    void (*callback)(struct timer *timer, void *argument);
    void *argument;
    rtems_id id;
};

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument);
void timer_arm(struct timer *timer, uint64_t deadline);

#endif
