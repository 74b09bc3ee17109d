/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schedules of Quest-V's paper (3.3, Figures 6 and 7) on a machine, in units of 1 ms: boot
 * argument `figure`. Prints which thread executed most of each unit, and the smallest of these
 * times.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/vcpu.h"
#include <string.h>

#define UNIT  NANOSECONDS_PER_MILLISECOND
#define UNITS 114u
/* A thread that sees no gap longer than this between two looks at the clock was not preempted. */
#define GAP         (20 * NANOSECONDS_PER_MICROSECOND)
#define STACK_BYTES 16384

enum { ZERO, ONE, TWO, IO, OTHER, THREADS };

static const char letters[] = "012I.";

static struct {
    uint64_t begin; /* time of unit 0 */
    uint64_t end;
    uint64_t executed[UNITS][THREADS]; /* nanoseconds */
    struct semaphore requested;
    struct semaphore done;
    struct timer delay;
    struct thread *io;
    struct semaphore ended;
} schedule;

static void account(unsigned self, uint64_t at, uint64_t nanoseconds)
{
    uint64_t unit = (at - schedule.begin) / UNIT;

    if (at >= schedule.begin && unit < UNITS) {
        schedule.executed[unit][self] += nanoseconds;
    }
}

/* Executes for so long, not counting the time in which others execute. Ends with the schedule. */
static void execute(unsigned self, uint64_t nanoseconds)
{
    uint64_t executed = 0;
    uint64_t before = time_now();

    while (executed < nanoseconds) {
        uint64_t now = time_now();

        if (now >= schedule.end) {
            (void)semaphore_post(&schedule.ended);
            thread_exit();
        }
        if (now - before < GAP) {
            executed += now - before;
            account(self, before, now - before);
        }
        before = now;
    }
}

static void run_other(void *argument)
{
    (void)argument;
    execute(OTHER, DEADLINE_NONE);
}

/* The CPU-bound threads of Figure 6; `self` points to the thread's letter. */
static void run_always(void *self)
{
    thread_sleep_until(schedule.begin);
    execute((unsigned)((const char *)self - letters), DEADLINE_NONE);
}

static void run_zero(void *argument)
{
    (void)argument;
    thread_sleep_until(schedule.begin + UNIT);
    execute(ZERO, DEADLINE_NONE);
}

static void run_one(void *argument)
{
    (void)argument;
    thread_sleep_until(schedule.begin);
    for (;;) {
        execute(ONE, 18 * UNIT);
        (void)semaphore_post(&schedule.requested);
        (void)vcpu_request_service(schedule.io);
        (void)semaphore_wait(&schedule.done, DEADLINE_NONE);
    }
}

static void post_done(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    (void)semaphore_post(&schedule.done);
}

/* Other VCPUs, which the figure does not show, delay VCPU 1 until 40. */
static void run_io(void *argument)
{
    (void)argument;
    for (;;) {
        uint64_t end;

        (void)semaphore_wait(&schedule.requested, DEADLINE_NONE);
        end = time_now() + 2 * UNIT;
        timer_arm(&schedule.delay,
                  end < schedule.begin + 40 * UNIT ? schedule.begin + 40 * UNIT : end);
        execute(IO, 2 * UNIT);
    }
}

static struct thread *start(const char *name, unsigned priority, void (*entry)(void *),
                            unsigned self)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = priority, .stack_bytes = STACK_BYTES};
    struct thread *thread = NULL;

    (void)thread_create(&thread, &attributes, entry, (void *)(uintptr_t)&letters[self]);
    return thread;
}

/* Makes a VCPU with a budget and a period in units, and binds the thread. */
static bool bind(struct thread *thread, enum vcpu_policy policy, uint64_t budget, uint64_t period)
{
    struct vcpu_param param = {.policy = policy, .C = budget * UNIT, .T = period * UNIT};
    int id;

    (void)strncpy(param.name, thread_name(thread), sizeof(param.name) - 1);
    id = vcpu_create(&param);
    return thread != NULL && id > 0 && vcpu_bind_thread(thread, id) == 0;
}

static void print_schedule(void)
{
    uint64_t smallest = UNIT;
    char line[UNITS + 1];

    for (unsigned unit = 0; unit < UNITS; unit++) {
        unsigned most = 0;

        for (unsigned thread = 1; thread < THREADS; thread++) {
            if (schedule.executed[unit][thread] > schedule.executed[unit][most]) {
                most = thread;
            }
        }
        line[unit] = letters[most];
        smallest =
            schedule.executed[unit][most] < smallest ? schedule.executed[unit][most] : smallest;
    }
    line[UNITS] = '\0';
    print("schedule: %s\n", line);
    print("schedule: each unit at least %llu ns\n", (unsigned long long)smallest);
}

/* Three CPU-bound VCPUs. */
static bool start_figure_6(void)
{
    return bind(start("zero", 10, run_always, ZERO), SCHED_SPORADIC, 1, 4) &&
           bind(start("one", 10, run_always, ONE), SCHED_SPORADIC, 2, 8) &&
           bind(start("two", 10, run_always, TWO), SCHED_SPORADIC, 8, 16);
}

/* VCPU 0 is CPU-bound, VCPU 1 requests I/O after each 18 units of its execution. What they leave
 * goes to another thread in the background, so that none of them runs without budget. */
static bool start_figure_7(void)
{
    timer_init(&schedule.delay, post_done, NULL);
    schedule.io = start("io", 10, run_io, IO);
    (void)start("other", 11, run_other, OTHER);
    return bind(start("zero", 10, run_zero, ZERO), SCHED_SPORADIC, 10, 40) &&
           bind(start("one", 10, run_one, ONE), SCHED_SPORADIC, 20, 50) &&
           bind(schedule.io, SCHED_PIBS, 4, 100);
}

int application_main(void)
{
    bool started;

    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    schedule.begin = time_now() + 10 * UNIT;
    schedule.end = schedule.begin + UNITS * UNIT;
    semaphore_init(&schedule.requested, 0, 1);
    semaphore_init(&schedule.done, 0, 1);
    semaphore_init(&schedule.ended, 0, THREADS);
    started = boot_argument_number("figure", 7, 6, 7) == 6 ? start_figure_6() : start_figure_7();
    if (!started) {
        print("schedule: FAIL: a VCPU or thread was refused\n");
        return 1;
    }
    (void)semaphore_wait(&schedule.ended, DEADLINE_NONE);
    print_schedule();
    if (boot_argument_number("stay", 0, 0, 1) != 0) {
        thread_sleep_until(DEADLINE_NONE); /* so that ./bulkhead trace can read the trace */
    }
    print("PASS\n");
    return 0;
}
