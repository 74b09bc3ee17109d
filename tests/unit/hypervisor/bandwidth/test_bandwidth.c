/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when a VCPU is parked, what ends that, and what the hypervisor counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bandwidth/bandwidth.h"
#include "bandwidth/counter.h"
#include "console/terminal.h"
#include "entry/interrupt.h"
#include "entry/watch.h"
#include "gic/counter_interrupt.h"
#include "gic/held_guest.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "scheduler/scheduler.h"
#include "vcpu/power.h"
#include <string.h>

#define HZ          10000000u /* 100 ns a tick */
#define WINDOW      UINT64_C(1000000)
#define TICKS       UINT64_C(10000)
#define BUDGET      500u
#define NEVER       UINT64_MAX
#define PENDING_IRQ UINT64_C(0x80)
#define PENDING_FIQ UINT64_C(0x40)
#define HELD        UINT64_C(0x1234)
#define PC          UINT64_C(0x40080000)

static struct description description;
static struct description_partition described;
static struct partition owner;
static struct vcpu limited;
static struct processor core;

static struct fakes {
    uint64_t now, pending;
    uint32_t loaded, used;
    unsigned starts, stops, loads, takes, timers;
    unsigned handled, listed, resolved, waits, holds, releases, works, lines;
    unsigned stop_at; /* number of waits after which the guest is not to execute; 0: never */
    bool is_own, is_kept, is_taken, has_stopped;
    const char *failure;
} fakes;

static int reset(void **state)
{
    (void)state;
    fakes = (struct fakes){.now = 1000, .is_own = true, .is_taken = true};
    described = (struct description_partition){.vcpu_count = 1};
    described.bandwidth = (struct description_bandwidth){.window = WINDOW, .events = BUDGET};
    memset(&owner, 0, sizeof(owner));
    owner.constant.system = &description;
    owner.constant.described = &described;
    memset(&limited, 0, sizeof(limited));
    limited.partition = &owner;
    core = (struct processor){.vcpu = &limited};
    return 0;
}

/* A VCPU whose guest has started. */
static int start(void **state)
{
    (void)reset(state);
    assert_null(bandwidth_start_core(&limited));
    bandwidth_start_guest(&limited);
    return 0;
}

uint64_t fake_register(const char *name)
{
    if (strcmp(name, "tpidr_el2") == 0) {
        return (uintptr_t)&core;
    }
    if (strcmp(name, "isr_el1") == 0) {
        return fakes.pending;
    }
    return strcmp(name, "cntfrq_el0") == 0 ? HZ : fakes.now;
}

const char *counter_reserve(const struct description_board *board)
{
    assert_ptr_equal(board, &description.board);
    return fakes.failure;
}

void counter_start(const struct description_board *board)
{
    assert_ptr_equal(board, &description.board);
    fakes.starts++;
}

void counter_load(uint32_t events)
{
    fakes.loaded = events;
    fakes.used = 0;
    fakes.loads++;
}

uint32_t counter_used(uint32_t events)
{
    assert_int_equal(events, fakes.loaded);
    return fakes.used;
}

bool counter_acknowledge(void)
{
    return fakes.is_own;
}

void counter_stop(void)
{
    fakes.stops++;
}

bool gic_take_counter_interrupt(const struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    fakes.takes++;
    return !fakes.is_kept;
}

uint64_t gic_hold_guest(const struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    fakes.holds++;
    return HELD;
}

void gic_release_guest(struct vcpu *vcpu, uint64_t held)
{
    assert_ptr_equal(vcpu, &limited);
    assert_int_equal(held, HELD);
    fakes.releases++;
}

void watch_set_timer(struct processor *processor)
{
    assert_ptr_equal(processor, &core);
    fakes.timers++;
}

void terminal_print_event(const struct partition *partition, const char *format, ...)
{
    assert_ptr_equal(partition, &owner);
    assert_non_null(format);
    fakes.lines++;
}

/* Time passes until the window ends. */
void scheduler_wait(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    assert_int_equal(fakes.holds, fakes.releases + 1);
    fakes.waits++;
    fakes.now += TICKS / 4;
    if (fakes.now >= limited.bandwidth.window.end) {
        fakes.pending |= PENDING_FIQ;
    }
}

void interrupt_handle(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    fakes.handled++;
    fakes.pending &= ~PENDING_FIQ;
    bandwidth_do_due_work(&core);
}

bool listed_take(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    fakes.listed++;
    fakes.pending &= ~PENDING_IRQ;
    return fakes.is_taken;
}

void interrupt_list(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    fakes.resolved++;
}

bool power_may_execute(const struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
    return !fakes.has_stopped && (fakes.stop_at == 0 || fakes.waits < fakes.stop_at);
}

void watch_look_on_own_core(struct processor *processor)
{
    assert_ptr_equal(processor, &core);
    fakes.works++;
}

bool fault_of_device(uint64_t pc)
{
    assert_int_equal(pc, PC);
    return false;
}

void scheduler_continue(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
}

void listed_apply_changes(struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &limited);
}

static void other_partitions_have_none_of_it(void **state)
{
    (void)state;
    described.bandwidth = (struct description_bandwidth){.window = 0};
    fakes.failure = "no counter";
    assert_null(bandwidth_start_core(&limited));
    bandwidth_start_guest(&limited);
    bandwidth_do_due_work(&core);
    bandwidth_wait(&core, &limited, PC);
    bandwidth_end_guest(&limited);
    assert_int_equal(bandwidth_due(&core), NEVER);
    assert_int_equal(fakes.takes + fakes.starts + fakes.stops + fakes.loads + fakes.timers, 0);
    assert_int_equal(fakes.waits, 0);
}

static void core_without_counters_is_refused(void **state)
{
    (void)state;
    fakes.failure = "no counter";
    assert_string_equal(bandwidth_start_core(&limited), "no counter");
    fakes.failure = NULL;
    fakes.is_kept = true;
    assert_string_equal(bandwidth_start_core(&limited),
                        "the firmware keeps interrupt 23, the performance monitors', in core");
}

static void nothing_is_due_before_the_guest_starts(void **state)
{
    (void)state;
    assert_null(bandwidth_start_core(&limited));
    assert_int_equal(bandwidth_due(&core), NEVER);
    bandwidth_do_due_work(&core);
    assert_int_equal(fakes.loads, 0);
    assert_int_equal(limited.bandwidth.report.windows, 0);
}

static void start_opens_a_window(void **state)
{
    (void)state;
    assert_int_equal(fakes.starts, 1);
    assert_int_equal(fakes.takes, 2); /* after each reset of the core's interrupts */
    assert_int_equal(fakes.loaded, BUDGET);
    assert_int_equal(fakes.timers, 1);
    assert_int_equal(bandwidth_due(&core), 1000 + TICKS);
}

/* 99 us at 10 MHz, and a window that has less than a tick at a slow counter. */
static void window_in_ticks(void **state)
{
    (void)state;
    described.bandwidth.window = 99000;
    assert_null(bandwidth_start_core(&limited));
    assert_int_equal(limited.bandwidth.limits.ticks, 990);
    described.bandwidth.window = 99;
    assert_null(bandwidth_start_core(&limited));
    assert_int_equal(limited.bandwidth.limits.ticks, 1);
    described.bandwidth.window = DESCRIPTION_BANDWIDTH_WINDOW_MAX;
    assert_null(bandwidth_start_core(&limited));
    assert_int_equal(limited.bandwidth.limits.ticks, HZ);
}

static void end_of_a_window_begins_the_next(void **state)
{
    const struct bandwidth_report *report = &limited.bandwidth.report;

    (void)state;
    fakes.used = 120;
    fakes.now = 1000 + TICKS - 1;
    bandwidth_do_due_work(&core);
    assert_int_equal(report->windows, 0);
    fakes.now++;
    bandwidth_do_due_work(&core);
    assert_int_equal(fakes.loads, 2);
    assert_int_equal(bandwidth_due(&core), 1000 + 2 * TICKS);
    fakes.used = 80;
    fakes.now += TICKS;
    bandwidth_do_due_work(&core);
    assert_int_equal(report->windows, 2);
    assert_int_equal(report->events, 200);
    assert_int_equal(report->most, 120);
    assert_int_equal(report->spent, 0);
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits, 0);
}

static void overflow_parks_until_the_window_ends(void **state)
{
    const struct bandwidth_report *report = &limited.bandwidth.report;

    (void)state;
    fakes.now += TICKS / 2;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    assert_int_equal(limited.report.refused, 0);
    fakes.used = BUDGET + 6;
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits, 2);
    assert_int_equal(fakes.works, 2);
    assert_int_equal(fakes.now, 1000 + TICKS);
    assert_int_equal(fakes.releases, 1);
    assert_int_equal(fakes.loaded, BUDGET - 6);
    assert_int_equal(report->windows, 1);
    assert_int_equal(report->spent, 1);
    assert_int_equal(report->most, BUDGET + 6);
    assert_int_equal(report->parked, TICKS / 2);
    assert_int_equal(fakes.lines, 1);
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits, 2);
}

static void debt_of_a_whole_window_parks_again(void **state)
{
    (void)state;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    fakes.used = 2 * BUDGET;
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.now, 1000 + 2 * TICKS);
    assert_int_equal(fakes.loaded, BUDGET);
    assert_int_equal(limited.bandwidth.report.windows, 2);
    assert_int_equal(limited.bandwidth.report.spent, 2);
    assert_int_equal(limited.bandwidth.report.parked, 2 * TICKS);
    assert_int_equal(fakes.lines, 1);
}

static void a_stop_ends_the_wait(void **state)
{
    (void)state;
    fakes.stop_at = 1;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits, 1);
    assert_int_equal(fakes.releases, 1);
    bandwidth_end_guest(&limited);
    assert_int_equal(fakes.stops, 1);
    assert_int_equal(bandwidth_due(&core), NEVER);
    assert_int_equal(limited.bandwidth.window.is_spent, 0);
    /* The next life has a whole budget. */
    fakes.stop_at = 0;
    bandwidth_start_guest(&limited);
    assert_int_equal(fakes.loaded, BUDGET);
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.lines, 2);
}

static void a_guest_that_stops_is_not_parked(void **state)
{
    (void)state;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    fakes.has_stopped = true;
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits + fakes.holds + fakes.lines, 0);
}

static void listed_interrupts_are_taken_meanwhile(void **state)
{
    (void)state;
    owner.constant.is_listed = true;
    fakes.pending = PENDING_IRQ;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.listed, 1);
    assert_int_equal(fakes.resolved, 0);
    fakes.is_taken = false;
    fakes.pending = PENDING_IRQ;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.resolved, 1);
}

static void direct_interrupts_are_left(void **state)
{
    (void)state;
    fakes.pending = PENDING_IRQ;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.listed, 0);
}

static void overflow_of_the_guest_parks_nobody(void **state)
{
    (void)state;
    fakes.is_own = false;
    assert_true(bandwidth_take_interrupt(&limited, GIC_OWN_COUNTERS));
    assert_int_equal(limited.report.refused, 1);
    bandwidth_wait(&core, &limited, PC);
    assert_int_equal(fakes.waits, 0);
}

static void other_interrupts_are_not_taken(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 1020; number++) {
        assert_int_equal(bandwidth_take_interrupt(&limited, number), number == GIC_OWN_COUNTERS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(other_partitions_have_none_of_it, reset),
        cmocka_unit_test_setup(core_without_counters_is_refused, reset),
        cmocka_unit_test_setup(nothing_is_due_before_the_guest_starts, reset),
        cmocka_unit_test_setup(window_in_ticks, reset),
        cmocka_unit_test_setup(start_opens_a_window, start),
        cmocka_unit_test_setup(end_of_a_window_begins_the_next, start),
        cmocka_unit_test_setup(overflow_parks_until_the_window_ends, start),
        cmocka_unit_test_setup(debt_of_a_whole_window_parks_again, start),
        cmocka_unit_test_setup(a_stop_ends_the_wait, start),
        cmocka_unit_test_setup(a_guest_that_stops_is_not_parked, start),
        cmocka_unit_test_setup(listed_interrupts_are_taken_meanwhile, start),
        cmocka_unit_test_setup(direct_interrupts_are_left, start),
        cmocka_unit_test_setup(overflow_of_the_guest_parks_nobody, start),
        cmocka_unit_test_setup(other_interrupts_are_not_taken, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
