/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares of processor time under overload, and the kernel's work meanwhile. */
#include "kernel/print.h"
#include "kernel/time.h"
#include "mark.h"
#include "vcpu_bench.h"
#include <arch/cpu.h>
#include <string.h>

static inline uint64_t share_now(void)
{
    return arch_clock_ticks();
}

#include "share.h"

#define POLL NANOSECONDS_PER_MILLISECOND

/* A set of VCPUs, each with a thread that always has work, beside a thread without VCPU. */
static struct {
    const char *name;
    uint32_t count;
    uint64_t budget[SHARE_THREADS_MAX]; /* microseconds, as the next */
    uint64_t period[SHARE_THREADS_MAX];
    int vcpu[SHARE_THREADS_MAX];
    struct thread *thread[SHARE_THREADS_MAX];
    struct share share;
} set;

static void spin_on_vcpu(void *argument)
{
    share_spin(&set.share, (uint32_t)(uintptr_t)argument);
}

uint64_t read_number(char **text)
{
    uint64_t number = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++) {
        number = 10 * number + (uint64_t)(**text - '0');
    }
    return number;
}

/* Reads NAME:C/T+C/T+... Returns the text after it. */
static char *read_set(char *text)
{
    char *rest = strchr(text, ':');

    if (rest == NULL) {
        fail("a set of VCPUs");
    }
    set.name = text;
    *rest++ = '\0';
    for (set.count = 0; set.count < SHARE_THREADS_MAX - 1; set.count++) {
        set.budget[set.count] = read_number(&rest);
        rest += *rest == '/';
        set.period[set.count] = read_number(&rest);
        if (*rest != '+') {
            set.count++;
            break;
        }
        rest++;
    }
    return *rest == ',' ? rest + 1 : rest;
}

static void sleep_for(uint64_t nanoseconds)
{
    thread_sleep_until(time_after(nanoseconds));
}

static void start_set(void)
{
    share_init(&set.share);
    for (uint32_t i = 0; i < set.count; i++) {
        set.vcpu[i] = make_vcpu(set.name, SCHED_SPORADIC, set.budget[i], set.period[i]);
    }
    for (uint32_t i = 0; i <= set.count; i++) {
        bool has_vcpu = i < set.count;

        set.thread[i] =
            start_thread("share", has_vcpu ? PRIORITY_WITHOUT_BUDGET : PRIORITY_SPINNING,
                         has_vcpu ? set.vcpu[i] : 0, spin_on_vcpu, (void *)(uintptr_t)i);
    }
    while (!share_all(&set.share, set.count + 1, SHARE_SPINS)) {
        sleep_for(POLL);
    }
}

static void end_set(void)
{
    for (uint32_t i = 0; i <= set.count; i++) {
        if (thread_join(set.thread[i], DEADLINE_NONE) != RESULT_OK ||
            (i < set.count && vcpu_destroy(set.vcpu[i], false) != 0)) {
            fail("end of a thread");
        }
    }
}

static void report(void)
{
    for (uint32_t i = 0; i < set.count; i++) {
        uint64_t budget = set.budget[i] * NANOSECONDS_PER_MICROSECOND;
        uint64_t period = set.period[i] * NANOSECONDS_PER_MICROSECOND;

        print("vcpu: share %s %u %llu/%llu received %llu of %llu\n", set.name, i,
              (unsigned long long)budget, (unsigned long long)period,
              (unsigned long long)set.share.threads[i].received,
              (unsigned long long)(set.share.end - set.share.start));
    }
}

void measure_shares(char *sets, uint64_t milliseconds)
{
    while (*sets != '\0') {
        sets = read_set(sets);
        start_set();
        share_begin(&set.share, milliseconds * WORK_MILLISECOND);
        end_set();
        report();
    }
}

/* Executes the instruction at which the bench's plugin holds the machine. */
static __attribute__((noinline)) void mark(void)
{
    __asm__ volatile(".inst %0" : : "i"(ROUNDS_MARK) : "memory");
}

void measure_decisions(char *sets, uint64_t milliseconds)
{
    while (*sets != '\0') {
        struct scheduler_statistics before;
        struct scheduler_statistics after;

        sets = read_set(sets);
        start_set();
        sleep_for(milliseconds * NANOSECONDS_PER_MILLISECOND);
        scheduler_statistics(&before);
        mark();
        sleep_for(milliseconds * NANOSECONDS_PER_MILLISECOND);
        mark();
        scheduler_statistics(&after);
        set.share.end = 0;
        end_set();
        print("vcpu: decisions %s interrupts %llu switches %llu\n", set.name,
              (unsigned long long)(after.interrupts - before.interrupts),
              (unsigned long long)(after.context_switches - before.context_switches));
    }
}
