/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the lock on a machine that executes one core at a time, and continues with another core
 * when a core yields. */
#include "hypervisor/ticket_lock.h"

#include <arch/wait.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE 1000u

/* A core that holds the lock, and gives it after as many turns; 0: it has halted. */
static struct {
    struct ticket_lock lock;
    unsigned turns_left;
    unsigned yields;
} machine;

void arch_yield(void)
{
    machine.yields++;
    if (machine.turns_left != 0 && --machine.turns_left == 0) {
        ticket_lock_give(&machine.lock);
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&machine, 0, sizeof(machine));
    return 0;
}

static void test_free_lock(void **state)
{
    (void)state;
    ticket_lock_take(&machine.lock, PATIENCE);
    ticket_lock_give(&machine.lock);
    ticket_lock_take(&machine.lock, PATIENCE);
    ticket_lock_give(&machine.lock);
    assert_int_equal(machine.yields, 0);
    assert_int_equal(machine.lock.next, machine.lock.turn);
}

static void test_holder_executes_during_the_wait(void **state)
{
    (void)state;
    ticket_lock_take(&machine.lock, PATIENCE);
    machine.turns_left = 3;
    ticket_lock_take(&machine.lock, PATIENCE);
    assert_int_equal(machine.yields, 3);
    assert_false(ticket_lock_try(&machine.lock));
    ticket_lock_give(&machine.lock);
    assert_true(ticket_lock_try(&machine.lock));
}

/* A monitor that fails while it holds the lock does not block the others. */
static void test_lock_of_a_failed_monitor(void **state)
{
    (void)state;
    ticket_lock_take(&machine.lock, PATIENCE);
    ticket_lock_take(&machine.lock, PATIENCE);
    assert_int_equal(machine.yields, PATIENCE);
    ticket_lock_give(&machine.lock);
    ticket_lock_take(&machine.lock, PATIENCE);
    ticket_lock_give(&machine.lock);
    assert_int_equal(machine.yields, PATIENCE);
    assert_int_equal(machine.lock.next, machine.lock.turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_free_lock, set_up),
        cmocka_unit_test_setup(test_holder_executes_during_the_wait, set_up),
        cmocka_unit_test_setup(test_lock_of_a_failed_monitor, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
