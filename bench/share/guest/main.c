/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench switch and share, in a partition that shares its core. In the
 * bench's machine the counter counts instructions. The boot argument `role` says what it does from
 * the time `begin` on, in milliseconds of the physical counter, and until `end`; `period` and
 * `work` are microseconds:
 *   wake        sleeps until the beginning of each period, then works for `work`
 *   spin        works all the time that it gets
 *   calls       calls the hypervisor as often as it can
 *   interrupts  takes an interrupt of its timer as often as it can
 *   games       works, and sleeps for a moment just before its budget ends
 *   pecks       works for a moment and sleeps for a moment: `peck_work` and `peck_sleep`, both in
 *               nanoseconds
 *   rings       rings the doorbell of the other end of channel 0 as often as it can
 *   orders      stops and starts partition `target` as often as it can; for a manager
 *   starts      starts partition `target` in each period, if it is stopped; for a manager
 *   restarts    restarts its partition as often as it can, from `begin` on without an end
 *   decision    none of these: counts the instructions of a decision of the scheduler
 * With `gaps` it also prints when it continued after others had executed, for the first so many
 * times. It prints its results when it has ended, so that printing disturbs nothing.
 *
 * `looks` is a measure of the work that a guest has done: each look at the counter takes the same
 * number of instructions. `executed` is not, because a guest does not see a gap that is as short as
 * an exit.
 *
 * Interrupts are masked from `begin` to `end`: what is measured has no part of our kernel.
 */
#include "decision.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/cpu.h>
#include <arch/gic_cpu_interface.h>
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <arch/machine.h>
#include <stdbool.h>
#include <string.h>

#define SAMPLES_MAX 1024u
/* A guest that sees no gap longer than this between two looks at the counter was not out: no exit
 * takes so long. */
#define GAP_MICROSECONDS 4u
#define OFFSET_READINGS  16u
#define NO_INTERRUPT     1020u /* IHI 0069, "Special INTIDs" */

static struct {
    uint64_t begin, end, period, work, gap; /* ticks */
    uint64_t peck_work, peck_sleep;         /* ticks */
    uint64_t offset;                        /* of the virtual counter to the physical one, ticks */
    uint64_t last;                          /* look at the counter */
    uint64_t executed;                      /* ticks since `begin` */
    uint64_t looks;
    uint32_t gaps, wakes;
    uint64_t gap_end[SAMPLES_MAX]; /* the first look after each gap, of the first gaps */
    struct {
        uint64_t due, woken, asleep;
    } wake[SAMPLES_MAX];
} share;

/* Looks at the counter, and accounts for the time since the last look. */
static uint64_t look(void)
{
    uint64_t now = arch_clock_ticks();

    if (now - share.last <= share.gap) {
        share.executed += now - share.last;
    } else {
        if (share.gaps < SAMPLES_MAX) {
            share.gap_end[share.gaps++] = now;
        }
    }
    share.last = now;
    share.looks++;
    return now;
}

/* Works until it has executed for so many ticks, or until `end`. */
static void work(uint64_t ticks)
{
    uint64_t wanted = share.executed + ticks;

    while (look() < share.end && share.executed < wanted) {
    }
}

static void set_timer(uint64_t due)
{
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(due), "r"(UINT64_C(1))
                     : "memory");
}

/* Takes an interrupt if one is pending. */
static void take_pending(void)
{
    uint32_t number = gic_cpu_acknowledge();

    if (number < NO_INTERRUPT) {
        gic_cpu_end(number);
    }
}

/* The timer's interrupt is pending: takes it. */
static void take_interrupt(void)
{
    __asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb" : : : "memory");
    take_pending();
}

/* Sleeps until `due`. Returns the counter when it continued. */
static uint64_t sleep_until(uint64_t due, uint64_t *asleep)
{
    uint64_t now;

    set_timer(due);
    *asleep = arch_clock_ticks();
    do {
        __asm__ volatile("wfi" : : : "memory");
        now = arch_clock_ticks();
    } while (now < due);
    share.last = now;
    take_interrupt();
    return now;
}

static void play_wake(void)
{
    for (uint64_t due = share.begin; due < share.end; due += share.period) {
        uint32_t i = share.wakes++ % SAMPLES_MAX;

        share.wake[i].due = due;
        share.wake[i].woken = sleep_until(due, &share.wake[i].asleep);
        work(share.work);
    }
}

static void play_calls(void)
{
    while (look() < share.end) {
        (void)arch_firmware_call(true, PSCI_VERSION);
    }
}

static void play_interrupts(void)
{
    while (look() < share.end) {
        set_timer(share.last);
        take_interrupt();
    }
}

static void play_games(void)
{
    uint64_t asleep;

    while (look() < share.end) {
        work(share.work);
        (void)sleep_until(share.last + share.gap, &asleep);
    }
}

static void play_pecks(void)
{
    uint64_t asleep;

    while (look() < share.end) {
        uint64_t end = share.last + share.peck_work;

        while (look() < end) {
        }
        (void)sleep_until(share.last + share.peck_sleep, &asleep);
    }
}

static void play_rings(void)
{
    while (look() < share.end) {
        (void)arch_firmware_call(true, CALL_CHANNEL_NOTIFY); /* the argument is 0 */
    }
}

static void play_orders(void)
{
    uint64_t target = boot_argument_number("target", 1, 1, CALL_PARTITIONS_MAX - 1);

    while (look() < share.end) {
        (void)hypervisor_call(CALL_PARTITION_STOP, target, 0, 0);
        (void)hypervisor_call(CALL_PARTITION_START, target, 0, 0);
    }
}

static void play_starts(void)
{
    uint64_t target = boot_argument_number("target", 1, 1, CALL_PARTITIONS_MAX - 1);

    while (look() < share.end) {
        uint64_t asleep;

        (void)hypervisor_call(CALL_PARTITION_START, target, 0, 0);
        (void)sleep_until(share.last + share.period, &asleep);
    }
}

static void play_restarts(void)
{
    (void)arch_firmware_call(true, PSCI_SYSTEM_RESET);
}

static const struct {
    const char *name;
    void (*play)(void);
} roles[] = {
    {"wake", play_wake},     {"calls", play_calls},   {"interrupts", play_interrupts},
    {"games", play_games},   {"pecks", play_pecks},   {"rings", play_rings},
    {"orders", play_orders}, {"starts", play_starts}, {"restarts", play_restarts},
};

static void spin(void)
{
    work(UINT64_MAX / 2);
}

static void play(const char *role)
{
    void (*chosen)(void) = spin;

    for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(role, roles[i].name) == 0) {
            chosen = roles[i].play;
        }
    }
    while (chosen != play_wake && arch_clock_ticks() < share.begin) {
    }
    share.last = share.begin;
    chosen();
    set_timer(arch_clock_ticks()); /* the kernel sets its timer again */
}

static void report(const char *role)
{
    uint32_t gaps = (uint32_t)boot_argument_number("gaps", 0, 0, SAMPLES_MAX);
    uint32_t wakes = share.wakes < SAMPLES_MAX ? share.wakes : SAMPLES_MAX;

    print("share: %s executed %llu of %llu.\n", role, (unsigned long long)share.executed,
          (unsigned long long)(share.end - share.begin));
    print("share: looks %llu.\n", (unsigned long long)share.looks);
    print("share: offset %llu.\n", (unsigned long long)share.offset);
    for (uint32_t i = 0; i < wakes; i++) {
        print("share: wake due %llu woken %llu asleep %llu.\n",
              (unsigned long long)share.wake[i].due, (unsigned long long)share.wake[i].woken,
              (unsigned long long)share.wake[i].asleep);
    }
    for (uint32_t i = 0; i < gaps && i < share.gaps; i++) {
        print("share: gap end %llu.\n", (unsigned long long)share.gap_end[i]);
    }
    print("share: end\n");
}

static uint64_t ticks(const char *argument, uint64_t fallback, uint64_t per_second)
{
    return boot_argument_number(argument, fallback, 0, UINT32_MAX) * arch_clock_frequency() /
           per_second;
}

/* Returns the difference of the counters, which is constant. Other guests may execute between the
 * two readings, so the smallest of several differences is taken. */
static uint64_t read_offset(void)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < OFFSET_READINGS; i++) {
        uint64_t virtual, physical;

        __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tmrs %1, cntpct_el0"
                         : "=r"(virtual), "=r"(physical)
                         :
                         : "memory");
        if (physical - virtual < least) {
            least = physical - virtual;
        }
    }
    return least;
}

int application_main(void)
{
    char role[16] = "spin";
    uint64_t interrupts;

    (void)boot_argument("role", role, sizeof(role));
    if (strcmp(role, "decision") == 0) {
        count_decisions();
        return 0;
    }
    share.offset = read_offset();
    share.begin = ticks("begin", 1000, 1000) - share.offset;
    share.end = ticks("end", 2000, 1000) - share.offset;
    share.period = ticks("period", 10000, 1000000);
    share.work = ticks("work", 1000, 1000000);
    share.peck_work = ticks("peck_work", 200, 1000000000);
    share.peck_sleep = ticks("peck_sleep", 1000, 1000000000);
    share.gap = GAP_MICROSECONDS * arch_clock_frequency() / 1000000;
    interrupts = arch_interrupts_save();
    play(role);
    arch_interrupts_restore(interrupts);
    report(role);
    return 0;
}
