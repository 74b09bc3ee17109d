/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests kernel/interrupt with a table as controller: which handlers an interrupt calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interrupt/controller.h"
#include "interrupt/deferral.h"
#include "interrupt/scheduler_hooks.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "kernel/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 100u

static struct {
    bool enabled[NUMBERS];
    unsigned pending[NUMBERS];
    bool deferrable[NUMBERS];
    bool defers;
    bool choice_follows; /* after a handler, deferrable interrupts stay pending */
    unsigned awaited, followed;
    bool stuck; /* disabling has no effect */
    unsigned ended, configured, printed, masked;
    unsigned charged; /* scheduler_interrupt_next() */
    bool no_memory;
    uint64_t now;          /* time_now() */
    uint64_t wait_until;   /* scheduler_interrupt_pay() */
    struct timer *release; /* armed; NULL: none */
} controller;

bool arch_interrupt_exists(uint32_t number)
{
    return number >= 16 && number < NUMBERS;
}

enum result arch_interrupt_configure(uint32_t number, enum interrupt_trigger trigger)
{
    (void)trigger;
    assert_int_equal(controller.masked, 1);
    assert_false(controller.enabled[number]);
    controller.configured++;
    return RESULT_OK;
}

void arch_interrupt_enable(uint32_t number)
{
    assert_int_equal(controller.masked, 1);
    controller.enabled[number] = true;
}

void arch_interrupt_disable(uint32_t number)
{
    controller.enabled[number] = controller.stuck;
}

void arch_interrupt_set_deferrable(uint32_t number, bool deferrable)
{
    assert_int_equal(controller.masked, 1);
    controller.deferrable[number] = deferrable;
}

/* Any address: the dispatcher only looks whether there is a server. */
static const struct deferral deferral = {.server = (struct thread *)&controller};

const struct deferral *deferral_this(void)
{
    return &deferral;
}

void deferral_await_near_timer(void)
{
    controller.awaited++;
}

void deferral_choice_is_due(void)
{
    controller.followed++;
    controller.defers = controller.choice_follows;
}

void arch_interrupt_raise(uint32_t number)
{
    controller.pending[number]++;
}

uint32_t arch_interrupt_acknowledge(void)
{
    for (uint32_t number = 0; number < NUMBERS; number++) {
        if (controller.enabled[number] && controller.pending[number] > 0 &&
            !(controller.defers && controller.deferrable[number])) {
            controller.pending[number] -= controller.pending[number] == UINT32_MAX ? 0 : 1;
            return number;
        }
    }
    return ARCH_INTERRUPT_NONE;
}

void arch_interrupt_end(uint32_t number)
{
    assert_true(number < NUMBERS);
    controller.ended++;
}

enum result arch_interrupt_controller_init(void)
{
    return RESULT_OK;
}

bool arch_interrupt_message_controller(int node)
{
    (void)node;
    return false;
}

enum result arch_interrupt_message_prepare(uint32_t highest_device_id)
{
    (void)highest_device_id;
    return RESULT_UNSUPPORTED;
}

enum result arch_interrupt_message_allocate(uint32_t device_id, uint32_t event, uint32_t *number,
                                            struct interrupt_message *message)
{
    (void)device_id;
    (void)event;
    (void)message;
    *number = 0;
    return RESULT_UNSUPPORTED;
}

size_t arch_interrupt_message_bytes(void)
{
    return 0;
}

void scheduler_interrupt_next(void)
{
    controller.charged++;
}

uint8_t scheduler_caller_vcpu(void)
{
    return 2;
}

uint64_t time_now(void)
{
    return controller.now;
}

uint64_t scheduler_interrupt_pay(uint8_t *payer)
{
    *payer = 1;
    return controller.wait_until;
}

void timer_init(struct timer *timer, void (*callback)(struct timer *, void *), void *argument)
{
    *timer = (struct timer){.callback = callback, .argument = argument};
}

void timer_arm(struct timer *timer, uint64_t deadline)
{
    timer->deadline = deadline;
    controller.release = timer;
}

bool timer_cancel(struct timer *timer)
{
    bool was_armed = controller.release == timer;

    controller.release = was_armed ? NULL : controller.release;
    return was_armed;
}

void *heap_allocate(size_t bytes)
{
    return controller.no_memory ? NULL : malloc(bytes);
}

void heap_free(void *memory)
{
    free(memory);
}

interrupt_state interrupts_save(void)
{
    return controller.masked++;
}

void interrupts_restore(interrupt_state state)
{
    controller.masked = (unsigned)state;
}

void print(const char *format, ...)
{
    (void)format;
    controller.printed++;
}

/* The trace, as words: "+" and the number at the entry, "-" and the number at the exit. */
static char traced[256];
static struct trace ring;
struct trace *trace_ring;

void trace_write(enum trace_kind kind, uint32_t subject, uint32_t argument)
{
    size_t length = strlen(traced);

    assert_int_equal(argument, 0);
    assert_true(kind == TRACE_INTERRUPT_ENTRY || kind == TRACE_INTERRUPT_EXIT);
    (void)snprintf(traced + length, sizeof(traced) - length, "%c%u",
                   kind == TRACE_INTERRUPT_ENTRY ? '+' : '-', subject);
}

static int reset(void **state)
{
    (void)state;
    controller = (__typeof__(controller)){.stuck = false};
    return 0;
}

static unsigned order[8], calls;

static void count(void *argument)
{
    order[calls++ % 8] = *(unsigned *)argument;
}

static struct interrupt_statistics statistics_now(void)
{
    struct interrupt_statistics statistics;

    interrupt_statistics(&statistics);
    return statistics;
}

static void test_attach_and_detach(void **state)
{
    unsigned one = 1;

    (void)state;
    calls = 0;
    assert_int_equal(interrupt_attach(15, INTERRUPT_EDGE, count, &one), RESULT_INVALID);
    assert_int_equal(interrupt_attach(NUMBERS, INTERRUPT_EDGE, count, &one), RESULT_INVALID);
    assert_int_equal(interrupt_attach(20, INTERRUPT_EDGE, NULL, &one), RESULT_INVALID);
    controller.no_memory = true;
    assert_int_equal(interrupt_attach(20, INTERRUPT_EDGE, count, &one), RESULT_NO_MEMORY);
    controller.no_memory = false;
    assert_int_equal(interrupt_raise(20), RESULT_NOT_FOUND);
    assert_int_equal(interrupt_attach(20, INTERRUPT_EDGE, count, &one), RESULT_OK);
    assert_true(controller.enabled[20]);
    assert_int_equal(interrupt_attach(20, INTERRUPT_EDGE, count, &one), RESULT_BUSY);
    assert_int_equal(interrupt_raise(20), RESULT_OK);
    interrupt_dispatch();
    assert_int_equal(calls, 1);
    assert_int_equal(controller.ended, 1);
    assert_int_equal(interrupt_detach(20, count, &calls), RESULT_NOT_FOUND);
    /* A number of the same hash chain. */
    assert_int_equal(interrupt_detach(36, count, &one), RESULT_NOT_FOUND);
    assert_int_equal(interrupt_detach(20, count, &one), RESULT_OK);
    assert_false(controller.enabled[20]);
    assert_int_equal(interrupt_detach(20, count, &one), RESULT_NOT_FOUND);
    assert_int_equal(controller.masked, 0);
}

/* Attaches three handlers to one number, with other numbers before and after it in the same
 * chain. */
static void test_sharing(void **state)
{
    unsigned names[] = {0, 1, 2, 3, 4};

    (void)state;
    calls = 0;
    assert_int_equal(interrupt_attach(32, INTERRUPT_LEVEL, count, &names[3]), RESULT_OK);
    assert_int_equal(interrupt_attach(48, INTERRUPT_LEVEL, count, &names[0]), RESULT_OK);
    assert_int_equal(interrupt_attach(64, INTERRUPT_LEVEL, count, &names[4]), RESULT_OK);
    assert_int_equal(interrupt_attach(48, INTERRUPT_LEVEL, count, &names[1]), RESULT_OK);
    assert_int_equal(interrupt_attach(48, INTERRUPT_LEVEL, count, &names[2]), RESULT_OK);
    assert_int_equal(interrupt_attach(48, INTERRUPT_EDGE, count, &names[2]), RESULT_BUSY);
    assert_int_equal(controller.configured, 3);
    interrupt_raise(48);
    interrupt_dispatch();
    assert_int_equal(calls, 3);
    assert_int_equal(order[0] + order[1] + order[2], 3);
    assert_int_equal(interrupt_detach(48, count, &names[0]), RESULT_OK);
    assert_true(controller.enabled[48]);
    interrupt_raise(48);
    interrupt_dispatch();
    assert_int_equal(calls, 5);
    interrupt_raise(32);
    interrupt_raise(64);
    interrupt_dispatch();
    assert_int_equal(calls, 7);
    assert_int_equal(order[5], 3);
    assert_int_equal(order[6], 4);
    assert_int_equal(interrupt_detach(48, count, &names[1]), RESULT_OK);
    assert_int_equal(interrupt_detach(48, count, &names[2]), RESULT_OK);
    assert_false(controller.enabled[48]);
    assert_int_equal(interrupt_detach(32, count, &names[3]), RESULT_OK);
    assert_int_equal(interrupt_detach(64, count, &names[4]), RESULT_OK);
}

static void test_masking(void **state)
{
    unsigned one = 1, two = 2;

    (void)state;
    calls = 0;
    assert_int_equal(interrupt_mask(20), RESULT_NOT_FOUND);
    assert_int_equal(interrupt_unmask(20), RESULT_NOT_FOUND);
    assert_false(controller.enabled[20]);
    assert_int_equal(interrupt_attach(20, INTERRUPT_LEVEL, count, &one), RESULT_OK);
    assert_int_equal(interrupt_mask(20), RESULT_OK);
    interrupt_raise(20);
    interrupt_dispatch();
    assert_int_equal(calls, 0);
    /* Attaching another handler does not unmask the interrupt. */
    assert_int_equal(interrupt_attach(20, INTERRUPT_LEVEL, count, &two), RESULT_OK);
    interrupt_dispatch();
    assert_int_equal(calls, 0);
    assert_int_equal(interrupt_unmask(20), RESULT_OK);
    interrupt_dispatch();
    assert_int_equal(calls, 2);
    assert_int_equal(interrupt_mask(20), RESULT_OK);
    assert_int_equal(interrupt_detach(20, count, &one), RESULT_OK);
    assert_int_equal(interrupt_detach(20, count, &two), RESULT_OK);
    assert_int_equal(interrupt_attach(20, INTERRUPT_LEVEL, count, &two), RESULT_OK);
    assert_true(controller.enabled[20]);
    assert_int_equal(interrupt_detach(20, count, &two), RESULT_OK);
    assert_int_equal(controller.masked, 0);
}

static void test_deferring(void **state)
{
    unsigned timer = 1, network = 2, other = 3;

    (void)state;
    calls = 0;
    assert_int_equal(interrupt_set_deferrable(40), RESULT_NOT_FOUND);
    assert_int_equal(interrupt_attach(27, INTERRUPT_LEVEL, count, &timer), RESULT_OK);
    assert_int_equal(interrupt_attach(40, INTERRUPT_LEVEL, count, &network), RESULT_OK);
    assert_int_equal(interrupt_set_deferrable(40), RESULT_OK);
    assert_true(controller.deferrable[40]);
    /* Both are pending, and the timer's handler wakes a thread: the choice comes first. */
    interrupt_raise(27);
    interrupt_raise(40);
    controller.choice_follows = true;
    interrupt_dispatch();
    assert_int_equal(controller.awaited, 1);
    assert_int_equal(controller.followed, 1);
    assert_int_equal(calls, 1);
    assert_int_equal(order[0], timer);
    /* The chosen thread is less urgent than the server. */
    controller.defers = false;
    interrupt_dispatch();
    assert_int_equal(calls, 2);
    assert_int_equal(order[1], network);
    /* Another device on the line. */
    assert_int_equal(interrupt_attach(40, INTERRUPT_LEVEL, count, &other), RESULT_OK);
    assert_false(controller.deferrable[40]);
    assert_int_equal(interrupt_set_deferrable(40), RESULT_BUSY);
    assert_false(controller.deferrable[40]);
    assert_int_equal(interrupt_detach(40, count, &other), RESULT_OK);
    assert_int_equal(interrupt_detach(40, count, &network), RESULT_OK);
    assert_int_equal(interrupt_detach(27, count, &timer), RESULT_OK);
    assert_int_equal(controller.masked, 0);
}

static void test_unknown(void **state)
{
    uint64_t unknown = statistics_now().unknown;

    (void)state;
    controller.enabled[50] = true;
    controller.pending[50] = 5;
    interrupt_dispatch();
    assert_false(controller.enabled[50]);
    assert_int_equal(controller.pending[50], 4);
    assert_int_equal(controller.ended, 1);
    assert_int_equal(controller.printed, 1);
    assert_int_equal(statistics_now().unknown, unknown + 1);
}

/* An interrupt that can't be disabled causes a bounded number of calls and messages. */
static void test_storm(void **state)
{
    (void)state;
    controller.stuck = true;
    controller.enabled[50] = true;
    controller.pending[50] = UINT32_MAX;
    for (unsigned exception = 0; exception < 100; exception++) {
        interrupt_dispatch();
    }
    assert_int_equal(controller.ended, 100 * 32);
    assert_int_equal(controller.charged, 100 * 31); /* between two of one exception */
    assert_true(controller.printed <= 8);
}

static void release(void)
{
    struct timer *timer = controller.release;

    controller.release = NULL;
    controller.masked = 1; /* as in an interrupt */
    timer->callback(timer, timer->argument);
    controller.masked = 0;
}

/* Raises an interrupt whose VCPU has no budget, as often as it is handled before it is masked. */
static void raise_until_held(uint32_t number)
{
    controller.now = controller.wait_until;
    controller.wait_until += 500;
    for (unsigned i = 0; i < 4; i++) {
        assert_true(controller.enabled[number]);
        interrupt_raise(number);
        interrupt_dispatch();
        controller.now++;
    }
    assert_false(controller.enabled[number]);
    assert_int_equal(controller.release->deadline, controller.wait_until);
}

/* An interrupt whose VCPU has no budget is handled some times, and masked then until that has
 * budget, or until its owner unmasks it after that. */
static void test_hold(void **state)
{
    unsigned one = 1;

    (void)state;
    assert_int_equal(interrupt_attach(20, INTERRUPT_LEVEL, count, &one), RESULT_OK);
    interrupt_set_alarm(20);
    controller.wait_until = 500;
    for (unsigned i = 0; i < 10; i++) {
        interrupt_raise(20);
        interrupt_dispatch();
    }
    assert_true(controller.enabled[20]); /* never the clock's */
    assert_int_equal(interrupt_attach(21, INTERRUPT_LEVEL, count, &one), RESULT_OK);
    raise_until_held(21);
    assert_int_equal(controller.release->armer, 1);
    assert_int_equal(interrupt_unmask(21), RESULT_OK);
    assert_false(controller.enabled[21]);
    release();
    assert_true(controller.enabled[21]);
    raise_until_held(21);
    assert_int_equal(interrupt_mask(21), RESULT_OK);
    release();
    assert_false(controller.enabled[21]);
    assert_int_equal(interrupt_unmask(21), RESULT_OK);
    assert_true(controller.enabled[21]);
    /* A shared interrupt may be for several VCPUs. */
    assert_int_equal(interrupt_attach(21, INTERRUPT_LEVEL, count, &calls), RESULT_OK);
    for (unsigned i = 0; i < 10; i++) {
        interrupt_raise(21);
        interrupt_dispatch();
    }
    assert_true(controller.enabled[21]);
    assert_int_equal(interrupt_detach(21, count, &calls), RESULT_OK);
    raise_until_held(21);
    assert_int_equal(interrupt_detach(21, count, &one), RESULT_OK);
    assert_null(controller.release);
    assert_int_equal(interrupt_detach(20, count, &one), RESULT_OK);
}

/* The few that a device sends before it sees that its interrupts are suppressed mask nothing. */
static void test_few_without_budget(void **state)
{
    unsigned one = 1;

    (void)state;
    assert_int_equal(interrupt_attach(21, INTERRUPT_LEVEL, count, &one), RESULT_OK);
    for (unsigned period = 0; period < 10; period++) {
        controller.now = controller.wait_until;
        controller.wait_until += 500;
        for (unsigned i = 0; i < 3; i++) {
            interrupt_raise(21);
            interrupt_dispatch();
        }
        assert_true(controller.enabled[21]);
    }
    assert_int_equal(interrupt_detach(21, count, &one), RESULT_OK);
}

static void test_spurious(void **state)
{
    uint64_t spurious = statistics_now().spurious;

    (void)state;
    interrupt_dispatch();
    assert_int_equal(statistics_now().spurious, spurious + 1);
    assert_int_equal(controller.ended, 0);
}

static void note_call(void *argument)
{
    (void)argument;
    (void)strcat(traced, "!");
}

/* Each interrupt is in the trace, around its handlers, if the trace is on. */
static void test_trace(void **state)
{
    (void)state;
    trace_ring = &ring;
    assert_int_equal(interrupt_attach(40, INTERRUPT_LEVEL, note_call, NULL), RESULT_OK);
    assert_int_equal(interrupt_attach(41, INTERRUPT_LEVEL, note_call, NULL), RESULT_OK);
    arch_interrupt_raise(41);
    arch_interrupt_raise(40);
    interrupt_dispatch();
    assert_string_equal(traced, "+40!-40+41!-41");
    trace_ring = NULL;
    arch_interrupt_raise(40);
    interrupt_dispatch();
    assert_string_equal(traced, "+40!-40+41!-41!");
    assert_int_equal(interrupt_detach(40, note_call, NULL), RESULT_OK);
    assert_int_equal(interrupt_detach(41, note_call, NULL), RESULT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_attach_and_detach, reset),
        cmocka_unit_test_setup(test_sharing, reset),
        cmocka_unit_test_setup(test_masking, reset),
        cmocka_unit_test_setup(test_deferring, reset),
        cmocka_unit_test_setup(test_unknown, reset),
        cmocka_unit_test_setup(test_storm, reset),
        cmocka_unit_test_setup(test_hold, reset),
        cmocka_unit_test_setup(test_few_without_budget, reset),
        cmocka_unit_test_setup(test_spurious, reset),
        cmocka_unit_test_setup(test_trace, reset),
    };

    return cmocka_run_group_tests_name("interrupt", tests, NULL, NULL);
}
