/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills a tank: a periodic thread controls the valve; the main thread waits until it is full. */
#include "kernel/application.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/watchdog.h"

#define FULL 100.0

static struct mutex guard;
static struct condition filled;
static double level; /* protected by guard */

/* In interrupt context, at the deadline that the thread misses. */
static void note_late_job(struct periodic *periodic, void *argument)
{
    (void)periodic;
    (void)argument;
    print("tank: the controller is late\n");
}

/* A proportional controller. A real one would read a sensor and set an actuator. */
static void control_once(void)
{
    (void)mutex_lock(&guard, DEADLINE_NONE);
    level += 0.1 * (FULL + 1 - level);
    if (level >= FULL) {
        (void)condition_signal(&filled);
    }
    (void)mutex_unlock(&guard);
}

static void control(void *argument)
{
    const struct periodic_attributes attributes = {.period = 10 * NANOSECONDS_PER_MILLISECOND,
                                                   .deadline = 5 * NANOSECONDS_PER_MILLISECOND,
                                                   .missed = note_late_job};
    struct periodic *periodic = argument;
    struct watchdog watchdog;

    watchdog_init(&watchdog, "tank", NULL, NULL); /* panics if it is not fed for a second */
    watchdog_arm(&watchdog, NULL, NANOSECONDS_PER_SECOND);
    (void)periodic_start(periodic, &attributes);
    for (;;) {
        (void)periodic_wait(periodic);
        control_once();
        (void)watchdog_feed(&watchdog);
    }
}

int application_main(void)
{
    const struct thread_attributes attributes = {
        .name = "control", .priority = 50, .stack_bytes = 4096};
    static struct periodic periodic;
    struct periodic_statistics statistics;
    struct thread *thread;

    mutex_init(&guard);
    condition_init(&filled);
    if (thread_create(&thread, &attributes, control, &periodic) != RESULT_OK) {
        return 1;
    }
    (void)mutex_lock(&guard, DEADLINE_NONE);
    while (level < FULL) {
        (void)condition_wait(&filled, &guard, DEADLINE_NONE);
    }
    (void)mutex_unlock(&guard);
    periodic_statistics(&periodic, &statistics);
    print("tank: full, %llu deadlines missed\n", (unsigned long long)statistics.misses);
    return 0;
}
