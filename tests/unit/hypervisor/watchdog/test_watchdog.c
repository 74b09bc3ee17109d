/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/watchdog/watchdog.c: which monitor looks at what, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "entry/frame.h"
#include "health/state.h"
#include "hypervisor/processor.h"
#include "watchdog/watchdog.h"
#include <arch/heartbeat.h>
#include <devices/watchdog_registers.h>
#include <stdbool.h>
#include <string.h>

#define HZ      1000000u /* a tick is a microsecond */
#define FRAMES  UINT64_C(0x140000000)
#define REFRESH (FRAMES + WATCHDOG_FRAME_BYTES)
#define PERIOD  UINT64_C(500)
#define SIGNAL  77u
#define PC      UINT64_C(0x40200104)
#define NOBODY  99u
#define VCPUS   2u
#define OFFSET  UINT64_C(100)
#define SHARED  ((struct shared_vcpu *)(uintptr_t)8) /* only compared with NULL */

static struct description_partition described;
/* The pages of the partition, of its health, and of its heartbeat. */
static _Alignas(4096) uint8_t pages[3 * 4096];
static struct vcpu vcpus[VCPUS];
static struct processor processors[VCPUS];
static struct registers stacks[VCPUS];
static unsigned core; /* whose code executes */
static uint64_t now;

static unsigned signals, watchdogs, heartbeats, timers; /* numbers of calls */
static uint64_t reported_pc;
static uint32_t sent_to, called; /* number of a VCPU, or NOBODY */

uint64_t fake_register(const char *name)
{
    if (strcmp(name, "tpidr_el2") == 0) {
        return (uintptr_t)&processors[core];
    }
    return strcmp(name, "cntfrq_el0") == 0 ? HZ : now;
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    assert_int_equal(interrupt, SIGNAL);
    signals++;
}

void gic_send(struct partition *partition, uint32_t vcpu)
{
    (void)partition;
    sent_to = vcpu;
}

void scheduler_call(struct vcpu *vcpu)
{
    called = vcpu->number;
}

void watch_set_timer(struct processor *processor)
{
    assert_ptr_equal(processor, &processors[core]);
    timers++;
}

void fault_of_watchdog(struct vcpu *vcpu, uint64_t pc)
{
    assert_ptr_equal(vcpu, &vcpus[core]);
    reported_pc = pc;
    watchdogs++;
}

void fault_of_heartbeat(struct vcpu *vcpu, uint64_t pc, uint64_t beats)
{
    (void)beats;
    assert_ptr_equal(vcpu, &vcpus[core]);
    reported_pc = pc;
    heartbeats++;
}

static struct partition *partition(void)
{
    return (struct partition *)(uintptr_t)pages;
}

static void set_power(unsigned number, enum vcpu_state state)
{
    partition()->atomic.power[number].state = state;
}

static void beat(unsigned number)
{
    ((struct heartbeat_page *)(uintptr_t)(pages + 8192))->vcpus[number].beats++;
}

/* A partition with a VCPU on each of two cores, both of which execute. */
static int setup(void **state)
{
    (void)state;
    memset(pages, 0, sizeof(pages));
    memset(&described, 0, sizeof(described));
    described.health = (struct description_health){
        .is_monitored = 1,
        .watchdog = FRAMES,
        .watchdog_interrupt = SIGNAL,
        .heartbeat = UINT64_C(0x140010000),
        .heartbeat_period = PERIOD,
    };
    described.vcpu_count = VCPUS;
    partition()->constant.described = &described;
    for (unsigned i = 0; i < VCPUS; i++) {
        vcpus[i] = (struct vcpu){
            .partition = partition(),
            .number = i,
            .stack = (uintptr_t)&stacks[i + 1],
            .watchdog_due = UINT64_MAX,
        };
        stacks[i] = (struct registers){.pc = PC + i};
        processors[i] = (struct processor){.vcpu = &vcpus[i], .vcpus = &vcpus[i]};
        set_power(i, VCPU_ON);
    }
    now = 1000;
    core = 0;
    signals = watchdogs = heartbeats = timers = 0;
    sent_to = called = NOBODY;
    watchdog_reset(partition());
    return 0;
}

static uint64_t access_word(uint64_t address, bool write, uint64_t value)
{
    struct access access = {.value = value, .bytes = 4, .write = write};
    enum access_result result;

    assert_true(watchdog_access(&vcpus[core], address, &access, &result));
    assert_int_equal(result, ACCESS_DONE);
    return access.value;
}

static void enable(uint32_t offset)
{
    (void)access_word(FRAMES + WOR, true, offset);
    (void)access_word(FRAMES + WCS, true, WCS_ENABLE);
}

/* Lets the core's timer expire at `time`. */
static void expire(uint64_t time)
{
    now = time;
    watchdog_call_due(&processors[core]);
}

static void accesses_of_both_frames(void **state)
{
    struct access access = {.bytes = 4};
    enum access_result result;

    (void)state;
    enable(OFFSET);
    assert_int_equal(access_word(FRAMES + WCS, false, 0), WCS_ENABLE);
    now += 50;
    (void)access_word(REFRESH + WRR, true, 0);
    assert_int_equal(access_word(FRAMES + WCV, false, 0), 1050 + OFFSET);
    assert_false(watchdog_access(&vcpus[0], FRAMES - 4, &access, &result));
    assert_false(
        watchdog_access(&vcpus[0], FRAMES + UINT64_C(2) * WATCHDOG_FRAME_BYTES, &access, &result));
    described.health.watchdog = 0;
    assert_false(watchdog_access(&vcpus[0], FRAMES, &access, &result));
    assert_false(watchdog_access(&vcpus[0], 0, &access, &result));
}

static void boot_core_looks_at_the_next_signal(void **state)
{
    (void)state;
    enable(OFFSET);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + OFFSET + 1);
    assert_true(timers > 0);
    expire(1000 + OFFSET);
    assert_int_equal(signals, 0);
    expire(1000 + OFFSET + 1);
    assert_int_equal(signals, 1);
    assert_int_equal(watchdogs, 0);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + 2 * OFFSET + 2);
    expire(1000 + 2 * OFFSET + 2);
    assert_int_equal(signals, 1);
    assert_int_equal(watchdogs, 1);
    assert_int_equal(reported_pc, PC);
    assert_true(vcpus[0].watchdog_due == UINT64_MAX);
}

/* On a core of its own each refresh moves the timer: it never expires. */
static void refresh_moves_the_timer(void **state)
{
    (void)state;
    enable(OFFSET);
    for (unsigned i = 0; i < 10; i++) {
        now += OFFSET;
        timers = 0;
        (void)access_word(REFRESH + WRR, true, 0);
        assert_int_equal(vcpus[0].watchdog_due, now + OFFSET + 1);
        assert_int_equal(timers, 1);
    }
    (void)access_word(FRAMES + WCS, true, 0);
    assert_true(vcpus[0].watchdog_due == UINT64_MAX);
}

/* A shared core keeps the earlier time, at which the look finds nothing. */
static void shared_core_looks_once_a_period(void **state)
{
    (void)state;
    vcpus[0].shared = SHARED;
    enable(OFFSET);
    assert_int_equal(vcpus[0].watchdog_due, 1001 + OFFSET);
    timers = 0;
    now += OFFSET;
    (void)access_word(REFRESH + WRR, true, 0);
    assert_int_equal(vcpus[0].watchdog_due, 1001 + OFFSET);
    assert_int_equal(timers, 0);
    expire(1001 + OFFSET);
    assert_int_equal(called, 0);
    assert_true(watchdog_due(&processors[0]) == UINT64_MAX);
    watchdog_look(&vcpus[0]);
    assert_int_equal(signals, 0);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + 2 * OFFSET + 1);
    assert_int_equal(timers, 1);
}

/* One VCPU in each exit; the timer expires again for the next one. */
static void shared_core_calls_one_vcpu_at_a_time(void **state)
{
    (void)state;
    vcpus[0].shared = SHARED;
    vcpus[1].shared = SHARED;
    vcpus[0].next = &vcpus[1];
    vcpus[0].watchdog_due = 1200;
    vcpus[1].watchdog_due = 1100;
    assert_int_equal(watchdog_due(&processors[0]), 1100);
    expire(1099);
    assert_int_equal(called, NOBODY);
    expire(1200);
    assert_int_equal(called, 0);
    assert_int_equal(watchdog_due(&processors[0]), 1100);
    expire(1201);
    assert_int_equal(called, 1);
    assert_true(watchdog_due(&processors[0]) == UINT64_MAX);
}

/* Another core tells the boot VCPU's monitor only if that would look too late. */
static void another_core_refreshes(void **state)
{
    (void)state;
    core = 1;
    enable(OFFSET);
    assert_int_equal(sent_to, 0);
    assert_true(vcpus[1].watchdog_due == UINT64_MAX);
    core = 0;
    watchdog_look(&vcpus[0]);
    assert_int_equal(vcpus[0].watchdog_due, 1001 + OFFSET);
    core = 1;
    sent_to = NOBODY;
    now += 50;
    (void)access_word(REFRESH + WRR, true, 0);
    assert_int_equal(sent_to, NOBODY);
    (void)access_word(FRAMES + WOR, true, 10);
    assert_int_equal(sent_to, 0);
    sent_to = NOBODY;
    (void)access_word(REFRESH + WRR, true, 0); /* it has been told already */
    assert_int_equal(sent_to, NOBODY);
}

/* The boot VCPU's own refresh moves what it has promised to another core. */
static void another_core_shortens_a_period_after_a_refresh(void **state)
{
    (void)state;
    enable(OFFSET);
    now += 50;
    (void)access_word(REFRESH + WRR, true, 0);
    core = 1;
    (void)access_word(FRAMES + WOR, true, OFFSET - 30);
    assert_int_equal(sent_to, 0);
}

/* The signal that has its time before a late refresh is asserted, on the core of the access. */
static void late_refresh(void **state)
{
    (void)state;
    enable(OFFSET);
    core = 1;
    now += 3 * OFFSET;
    (void)access_word(REFRESH + WRR, true, 0);
    assert_int_equal(signals, 1);
    assert_int_equal(watchdogs, 1);
    assert_int_equal(reported_pc, PC + 1);
}

static void boot_vcpu_is_off(void **state)
{
    (void)state;
    enable(OFFSET);
    set_power(0, VCPU_OFF);
    expire(1000 + 3 * OFFSET);
    assert_int_equal(watchdogs, 1);
    assert_int_equal(reported_pc, 0);
}

static void partition_that_stops_is_not_looked_at(void **state)
{
    (void)state;
    enable(OFFSET);
    watchdog_start_guest(&vcpus[0]);
    beat(0);
    partition()->atomic.request = REQUEST_STOP;
    expire(10000);
    assert_int_equal(signals + watchdogs + heartbeats, 0);
    assert_true(vcpus[0].watchdog_due == UINT64_MAX);
    /* The next start begins without a watchdog, and with a count of 0. */
    watchdog_reset(partition());
    partition()->atomic.request = REQUEST_NONE;
    assert_int_equal(access_word(FRAMES + WCS, false, 0), 0);
    assert_int_equal(access_word(FRAMES + WOR, false, 0), 0);
    for (unsigned i = 8192; i < sizeof(pages); i++) {
        assert_int_equal(pages[i], 0);
    }
}

static void each_core_looks_at_its_heartbeat(void **state)
{
    (void)state;
    for (core = 0; core < VCPUS; core++) {
        watchdog_start_guest(&vcpus[core]);
        assert_int_equal(vcpus[core].watchdog_due, 1000 + PERIOD);
    }
    for (unsigned i = 1; i < 5; i++) {
        for (core = 0; core < VCPUS; core++) {
            beat(core);
            expire(1000 + i * PERIOD);
        }
    }
    assert_int_equal(heartbeats, 0);
    core = 0;
    beat(0);
    expire(1000 + 5 * PERIOD);
    assert_int_equal(heartbeats, 0);
    core = 1; /* the second one hangs */
    expire(1000 + 5 * PERIOD);
    assert_int_equal(heartbeats, 1);
    assert_int_equal(reported_pc, PC + 1);
}

/* A VCPU that is off need not beat, and begins again when it starts. */
static void vcpu_that_is_off_has_no_heartbeat(void **state)
{
    (void)state;
    core = 1;
    watchdog_start_guest(&vcpus[1]);
    beat(1);
    expire(1000 + PERIOD);
    set_power(1, VCPU_OFF);
    expire(1000 + 2 * PERIOD);
    assert_int_equal(heartbeats, 0);
    assert_true(vcpus[1].watchdog_due == UINT64_MAX);
    set_power(1, VCPU_ON);
    watchdog_start_guest(&vcpus[1]);
    expire(1000 + 3 * PERIOD);
    assert_int_equal(heartbeats, 0);
}

static void only_the_boot_vcpu_has_a_start_limit(void **state)
{
    (void)state;
    described.health.heartbeat_start = 200;
    watchdog_start_guest(&vcpus[0]);
    assert_int_equal(vcpus[0].watchdog_due, 1200);
    expire(1200);
    assert_int_equal(heartbeats, 1);
    now = 1000;
    core = 1;
    watchdog_start_guest(&vcpus[1]);
    assert_int_equal(vcpus[1].watchdog_due, 1000 + PERIOD);
}

/* The earlier one of both is looked at first, and neither is lost. */
static void watchdog_and_heartbeat(void **state)
{
    (void)state;
    watchdog_start_guest(&vcpus[0]);
    enable(2u * (uint32_t)PERIOD);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + PERIOD);
    beat(0);
    expire(1000 + PERIOD);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + 2 * PERIOD);
    beat(0);
    expire(1000 + 2 * PERIOD);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + 2 * PERIOD + 1);
    expire(1000 + 2 * PERIOD + 1);
    assert_int_equal(signals, 1);
    assert_int_equal(heartbeats, 0);
    assert_int_equal(vcpus[0].watchdog_due, 1000 + 3 * PERIOD);
}

static void partition_without_both(void **state)
{
    (void)state;
    memset(&described.health, 0, sizeof(described.health));
    watchdog_reset(partition());
    watchdog_start_guest(&vcpus[0]);
    watchdog_look(&vcpus[0]);
    assert_true(watchdog_due(&processors[0]) == UINT64_MAX);
    assert_int_equal(timers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(accesses_of_both_frames, setup),
        cmocka_unit_test_setup(boot_core_looks_at_the_next_signal, setup),
        cmocka_unit_test_setup(refresh_moves_the_timer, setup),
        cmocka_unit_test_setup(shared_core_looks_once_a_period, setup),
        cmocka_unit_test_setup(shared_core_calls_one_vcpu_at_a_time, setup),
        cmocka_unit_test_setup(another_core_refreshes, setup),
        cmocka_unit_test_setup(another_core_shortens_a_period_after_a_refresh, setup),
        cmocka_unit_test_setup(late_refresh, setup),
        cmocka_unit_test_setup(boot_vcpu_is_off, setup),
        cmocka_unit_test_setup(partition_that_stops_is_not_looked_at, setup),
        cmocka_unit_test_setup(each_core_looks_at_its_heartbeat, setup),
        cmocka_unit_test_setup(vcpu_that_is_off_has_no_heartbeat, setup),
        cmocka_unit_test_setup(only_the_boot_vcpu_has_a_start_limit, setup),
        cmocka_unit_test_setup(watchdog_and_heartbeat, setup),
        cmocka_unit_test_setup(partition_without_both, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
