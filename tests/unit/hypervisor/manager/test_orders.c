/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/manager/manager.c: how a partition takes the manager's orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "console/terminal.h"
#include "manager/manager.h"
#include "manager/orders.h"
#include "partition/fault.h"
#include "partition/life.h"
#include "partition/load.h"
#include <string.h>

static struct description description;
static struct partition stopped;
static struct manager_orders orders;
static struct vcpu boot_vcpu;
static unsigned requests;

void life_replace_request(struct vcpu *vcpu, enum partition_request request, const char *event)
{
    assert_ptr_equal(vcpu, &boot_vcpu);
    assert_non_null(event);
    stopped.atomic.request = request;
    requests++;
}

void fault_of_panic(struct vcpu *vcpu, uint64_t pc, uint64_t value)
{
    assert_ptr_equal(vcpu, &boot_vcpu);
    assert_int_equal(pc + value, 0);
    requests++;
}

void terminal_print_event(const struct partition *partition, const char *format, ...)
{
    assert_ptr_equal(partition, &stopped);
    assert_non_null(format);
}

void load_clean(uint64_t at, uint64_t end)
{
    assert_true(at <= end);
}

static int setup(void **state)
{
    (void)state;
    memset(&description, 0, sizeof(description));
    memset(&stopped, 0, sizeof(stopped));
    memset(&orders, 0, sizeof(orders));
    memset(&boot_vcpu, 0, sizeof(boot_vcpu));
    requests = 0;
    stopped.constant.described = &description.partitions[0];
    stopped.constant.orders = &orders;
    stopped.boot_vcpu.management.presence = PARTITION_PRESENT;
    orders.partitions[0] = &stopped;
    boot_vcpu.partition = &stopped;
    return 0;
}

/* The partition takes an order that its manager has posted before the state changed. Returns the
 * result. */
static int32_t take(uint32_t command)
{
    orders.orders[0].command = command;
    orders.orders[0].number++;
    manager_take_order(&boot_vcpu);
    assert_int_equal(stopped.boot_vcpu.management.answered, orders.orders[0].number);
    return stopped.boot_vcpu.management.result;
}

static void an_order_is_taken_once(void **state)
{
    (void)state;
    assert_int_equal(take(ORDER_STOP), MANAGER_DONE);
    manager_take_order(&boot_vcpu);
    assert_int_equal(requests, 1);
    stopped.atomic.request = REQUEST_STOPPED;
    assert_int_equal(take(ORDER_STOP), MANAGER_WRONG_STATE);
    assert_int_equal(requests, 1);
    assert_int_equal(take(ORDER_START), MANAGER_DONE);
    assert_int_equal(requests, 2);
}

/* The partition has stopped for its errors while the order was on its way. */
static void a_refused_order_does_not_hide_why_a_partition_is_stopped(void **state)
{
    (void)state;
    stopped.atomic.request = REQUEST_STOPPED;
    stopped.boot_vcpu.management.result = MANAGER_RESTARTS_USED_UP;
    assert_int_equal(take(ORDER_CRASH), MANAGER_RESTARTS_USED_UP);
    assert_int_equal(take(ORDER_STOP), MANAGER_RESTARTS_USED_UP);
    assert_int_equal(take(ORDER_CREATE), MANAGER_RESTARTS_USED_UP);
    assert_int_equal(requests, 0);
    assert_int_equal(take(ORDER_START), MANAGER_DONE);
    stopped.atomic.request = REQUEST_FAILED;
    stopped.boot_vcpu.management.result = MANAGER_NOT_ISOLATED;
    assert_int_equal(take(ORDER_CRASH), MANAGER_NOT_ISOLATED);
    assert_int_equal(take(ORDER_STOP), MANAGER_DONE);
}

/* A result that an order has left says nothing of later ones. */
static void a_refused_order_replaces_the_result_of_another(void **state)
{
    (void)state;
    stopped.atomic.request = REQUEST_STOPPED;
    stopped.boot_vcpu.management.result = MANAGER_CHANGED;
    assert_int_equal(take(ORDER_STOP), MANAGER_WRONG_STATE);
    stopped.atomic.request = REQUEST_NONE;
    stopped.boot_vcpu.management.result = MANAGER_RESET_FAILED;
    assert_int_equal(take(ORDER_START), MANAGER_WRONG_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_order_is_taken_once, setup),
        cmocka_unit_test_setup(a_refused_order_does_not_hide_why_a_partition_is_stopped, setup),
        cmocka_unit_test_setup(a_refused_order_replaces_the_result_of_another, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
