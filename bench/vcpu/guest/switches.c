/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions from the last one of a thread to the first one of the next. */
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "vcpu_bench.h"
#include <arch/cpu.h>

#define SWITCHES        1000u
#define WARM_UP         10u
#define ROUNDS_A_PERIOD 10u   /* fewer than a VCPU has replenishments */
#define BUDGET          4000u /* microseconds, as the periods; the measurements need less */
#define SHORT           UINT64_C(10000)
#define LONG            UINT64_C(20000)

static volatile uint64_t left_at;

struct spread {
    uint64_t least;
    uint64_t most;
    uint64_t sum;
    uint32_t count;
};

static struct semaphore wake_up;

static inline void leave(void)
{
    left_at = arch_clock_ticks();
}

/* Records the time since leave(). */
static inline void arrive(struct spread *spread, uint32_t number)
{
    uint64_t ticks = arch_clock_ticks() - left_at;

    if (number < WARM_UP) {
        *spread = (struct spread){.least = UINT64_MAX};
        return;
    }
    spread->least = ticks < spread->least ? ticks : spread->least;
    spread->most = ticks > spread->most ? ticks : spread->most;
    spread->sum += ticks;
    spread->count++;
}

/* Prints the numbers without the instructions of the measurement itself. */
static void report(const char *name, const struct spread *spread)
{
    struct spread empty;
    uint64_t own;

    for (uint32_t i = 0; i <= WARM_UP; i++) {
        leave();
        arrive(&empty, i);
    }
    own = empty.least;
    print("vcpu: switch %s %llu %llu %llu\n", name, (unsigned long long)(spread->least - own),
          (unsigned long long)(spread->sum / spread->count - own),
          (unsigned long long)(spread->most - own));
}

static void yield(void *argument)
{
    for (uint32_t i = 0; i < WARM_UP + SWITCHES; i++) {
        leave();
        thread_yield();
        arrive(argument, i);
    }
}

static struct spread woken;
static struct spread blocked;

static void sleep_and_wake(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < WARM_UP + SWITCHES; i++) {
        leave();
        (void)semaphore_wait(&wake_up, DEADLINE_NONE);
        arrive(&woken, i);
    }
    leave();
    (void)semaphore_wait(&wake_up, DEADLINE_NONE);
}

static void wake(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < WARM_UP + SWITCHES; i++) {
        leave();
        (void)semaphore_post(&wake_up);
        arrive(&blocked, i);
        if (i % ROUNDS_A_PERIOD == 0) {
            thread_sleep_until(time_after(2 * SHORT * NANOSECONDS_PER_MICROSECOND));
        }
    }
    (void)semaphore_post(&wake_up);
}

static void join(struct thread *one, struct thread *other)
{
    if (thread_join(one, DEADLINE_NONE) != RESULT_OK ||
        thread_join(other, DEADLINE_NONE) != RESULT_OK) {
        fail("join");
    }
}

void measure_switches(void)
{
    int higher = make_vcpu("higher", SCHED_SPORADIC, BUDGET, SHORT);
    int lower = make_vcpu("lower", SCHED_SPORADIC, BUDGET, LONG);
    struct spread yielded[2];
    struct thread *one = start_thread("one", PRIORITY_WITHOUT_BUDGET, lower, yield, &yielded[0]);
    struct thread *other =
        start_thread("other", PRIORITY_WITHOUT_BUDGET, lower, yield, &yielded[1]);

    join(one, other);
    report("yield", &yielded[1]);
    semaphore_init(&wake_up, 0, 1);
    one = start_thread("one", PRIORITY_WITHOUT_BUDGET, higher, sleep_and_wake, NULL);
    other = start_thread("other", PRIORITY_WITHOUT_BUDGET, lower, wake, NULL);
    join(one, other);
    report("wake", &woken);
    report("block", &blocked);
}
