/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests waits for doorbells: none is lost, and none interrupts while nobody waits. */
#include "kernel/partition_channel.h"
#include "kernel_fixture.h"

#define FIRST  50u
#define SECOND 51u

static struct partition_waiter waiter;
static struct partition_channel channels[2];

/* The GIC's view of the two interrupts: a doorbell that is masked does not become pending. */
static struct {
    interrupt_handler handler;
    void *argument;
    bool is_masked;
    unsigned calls;
} lines[2];

/* The interrupt of a sweep may come here. */
static void interrupt_here(void)
{
    interrupts_restore(interrupts_save());
}

enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument)
{
    CHECK(trigger == INTERRUPT_EDGE && number - FIRST < 2);
    lines[number - FIRST].handler = function;
    lines[number - FIRST].argument = argument;
    return RESULT_OK;
}

enum result interrupt_mask(uint32_t number)
{
    lines[number - FIRST].is_masked = true;
    return RESULT_OK;
}

enum result interrupt_unmask(uint32_t number)
{
    CHECK(lines[number - FIRST].is_masked); /* each write is an exit to the hypervisor */
    interrupt_here();
    lines[number - FIRST].is_masked = false;
    interrupt_here();
    return RESULT_OK;
}

static void handle(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < 2; i++) {
        if (argument == &lines[i] && !lines[i].is_masked) {
            lines[i].calls++;
            lines[i].handler(lines[i].argument);
        }
    }
}

static void ring(uint32_t number)
{
    host_interrupt(handle, &lines[number - FIRST]);
}

static void set_up(void)
{
    partition_waiter_init(&waiter);
    for (unsigned i = 0; i < 2; i++) {
        lines[i].is_masked = false;
        lines[i].calls = 0;
        channels[i] = (struct partition_channel){.interrupt = {FIRST + i}, .has_interrupt = true};
        CHECK_EQUAL(partition_waiter_add(&waiter, &channels[i]), RESULT_OK);
    }
}

/* After prepare, both doorbells interrupt. */
static void check_both_heard(void)
{
    partition_waiter_prepare(&waiter);
    CHECK(!lines[0].is_masked && !lines[1].is_masked);
}

static void check_unheard(void)
{
    set_up();
    for (unsigned i = 0; i < 10; i++) {
        ring(FIRST);
    }
    CHECK_EQUAL(lines[0].calls, 0);
    check_both_heard();
    for (unsigned i = 0; i < 10; i++) {
        ring(FIRST);
    }
    CHECK_EQUAL(lines[0].calls, 1);
    CHECK_EQUAL(lines[1].calls, 0);
    check_both_heard();
}

static void check_rung_before_sleep(void)
{
    set_up();
    partition_waiter_prepare(&waiter);
    ring(SECOND);
    CHECK(partition_waiter_sleep(&waiter, DEADLINE_NONE));
    /* The doorbell is consumed, and no other one ends the next sleep. */
    partition_waiter_prepare(&waiter);
    CHECK(!partition_waiter_sleep(&waiter, time_after(1000)));
    CHECK_EQUAL(lines[1].calls, 1);
}

/* An end that rings again and again does not keep the thread beyond its deadline. */
static void check_rung_too_late(void)
{
    set_up();
    partition_waiter_prepare(&waiter);
    ring(FIRST);
    CHECK(!partition_waiter_sleep(&waiter, time_now()));
}

static void check_stale(void)
{
    set_up();
    partition_waiter_prepare(&waiter);
    ring(FIRST);
    /* The thread found what it waited for before it slept. */
    partition_waiter_prepare(&waiter);
    CHECK(!partition_waiter_sleep(&waiter, time_after(1000)));
}

static void check_no_interrupt(void)
{
    struct partition_channel channel = {.interrupt = {FIRST}};

    set_up();
    CHECK_EQUAL(partition_waiter_add(&waiter, &channel), RESULT_UNSUPPORTED);
}

/* The other end sends a message, and then rings. */
static bool has_message;
static uint64_t sent;

static void send(void *argument)
{
    (void)argument;
    has_message = true;
    sent = time_now();
    handle(&lines[1]);
}

/* A message that comes at any point is found at the last look, or ends the sleep. */
static void check_any_point(void)
{
    set_up();
    ring(FIRST);
    ring(SECOND);
    has_message = false;
    sweep_interrupt(send, NULL);
    partition_waiter_prepare(&waiter);
    if (!has_message) {
        uint64_t deadline = time_after(1000000);
        bool is_rung = partition_waiter_sleep(&waiter, deadline);

        CHECK(is_rung || !has_message || sent >= deadline);
    }
    check_both_heard();
}

static void test_unheard(void **state)
{
    (void)state;
    kernel_run(check_unheard);
}

static void test_rung_before_sleep(void **state)
{
    (void)state;
    kernel_run(check_rung_before_sleep);
}

static void test_rung_too_late(void **state)
{
    (void)state;
    kernel_run(check_rung_too_late);
}

static void test_stale(void **state)
{
    (void)state;
    kernel_run(check_stale);
}

static void test_no_interrupt(void **state)
{
    (void)state;
    kernel_run(check_no_interrupt);
}

static void test_any_point(void **state)
{
    (void)state;
    kernel_sweep(check_any_point, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unheard),   cmocka_unit_test(test_rung_before_sleep),
        cmocka_unit_test(test_stale),     cmocka_unit_test(test_no_interrupt),
        cmocka_unit_test(test_any_point), cmocka_unit_test(test_rung_too_late),
    };

    return cmocka_run_group_tests_name("partition_waiter", tests, NULL, NULL);
}
