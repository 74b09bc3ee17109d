/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/partition/notice.c: what is printed in which step, in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "console/terminal.h"
#include "console/uart.h"
#include "partition/fault.h"
#include "partition/notice.h"
#include "partition/refused_dma.h"
#include <stdio.h>
#include <string.h>

static struct partition partition;
static struct vcpu vcpu = {.partition = &partition};
static char output[512];

static void add(const char *format, va_list arguments)
{
    size_t bytes = strlen(output);

    (void)vsnprintf(output + bytes, sizeof(output) - bytes, format, arguments);
    strcat(output, "; ");
}

bool uart_flush(struct partition *own, bool end)
{
    assert_ptr_equal(own, &partition);
    assert_true(end);
    strcat(output, "flush; ");
    return true;
}

void terminal_add_fault(const struct partition *own, const char *format, ...)
{
    va_list arguments;

    assert_ptr_equal(own, &partition);
    va_start(arguments, format);
    add(format, arguments);
    va_end(arguments);
}

void terminal_print_event(const struct partition *own, const char *format, ...)
{
    va_list arguments;

    assert_ptr_equal(own, &partition);
    va_start(arguments, format);
    add(format, arguments);
    va_end(arguments);
}

void terminal_send(void)
{
    strcat(output, "send; ");
}

void refused_dma_print(const struct vcpu *own)
{
    assert_ptr_equal(own, &vcpu);
    strcat(output, "DMA; ");
}

static int prepare(void **state)
{
    (void)state;
    memset(&vcpu.notice, 0, sizeof(vcpu.notice));
    vcpu.report.address = 0x3f000000;
    vcpu.report.syndrome = 0x93c08046;
    vcpu.report.pc = 0x40000100;
    output[0] = '\0';
    return 0;
}

/* Takes all steps. Returns their number. */
static unsigned report(void)
{
    unsigned steps = 0;

    while (notice_is_left(&vcpu)) {
        notice_report(&vcpu);
        steps++;
    }
    return steps;
}

static void test_nothing(void **state)
{
    (void)state;
    assert_false(notice_is_left(&vcpu));
}

static void test_fault(void **state)
{
    (void)state;
    notice_fault(&vcpu, FAULT_OF_GUEST);
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; is stopped: core 0, address 0x3f000000, syndrome "
                                "0x93c08046, pc 0x40000100; send; ");
}

static void test_fault_of_a_device(void **state)
{
    (void)state;
    notice_fault(&vcpu, FAULT_OF_DEVICE);
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; is stopped: core 0, no answer from the device at "
                                "0x3f000000, syndrome 0x93c08046, pc 0x40000100; send; ");
}

static void test_panic(void **state)
{
    (void)state;
    vcpu.report.address = 7;
    notice_fault(&vcpu, FAULT_OF_PANIC);
    assert_int_equal(report(), 3);
    assert_string_equal(output,
                        "flush; is stopped: core 0, panic with value 0x7, pc 0x40000100; send; ");
}

static void test_watchdog(void **state)
{
    (void)state;
    notice_fault(&vcpu, FAULT_OF_WATCHDOG);
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; is stopped: core 0, its watchdog was not refreshed, pc "
                                "0x40000100; send; ");
}

static void test_heartbeat(void **state)
{
    (void)state;
    notice_fault(&vcpu, FAULT_OF_HEARTBEAT);
    assert_int_equal(report(), 3);
    assert_string_equal(output,
                        "flush; is stopped: core 0, its heartbeat stands still, pc 0x40000100; "
                        "send; ");
}

static void test_fault_at_an_unknown_address(void **state)
{
    (void)state;
    vcpu.report.address = FAULT_ADDRESS_UNKNOWN;
    notice_fault(&vcpu, FAULT_OF_GUEST);
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; is stopped: core 0, address unknown, syndrome 0x93c08046, "
                                "pc 0x40000100; send; ");
}

/* The fault comes first, and nothing of it is lost when an event follows before its report. */
static void test_event_after_a_fault(void **state)
{
    (void)state;
    notice_fault(&vcpu, FAULT_OF_DMA);
    notice_report(&vcpu);
    notice_event(&vcpu, "restarts");
    assert_int_equal(report(), 4);
    assert_string_equal(output, "flush; flush; DMA; send; restarts; ");
}

/* Each is printed in a step of its own: an entry has room for one. */
static void test_two_events(void **state)
{
    (void)state;
    notice_event(&vcpu, "is stopped");
    notice_event(&vcpu, "restarts");
    assert_string_equal(output, "");
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; is stopped; restarts; ");
}

/* The oldest is what has happened, the last is what will be. */
static void test_three_events(void **state)
{
    (void)state;
    notice_event(&vcpu, "restarts");
    notice_event(&vcpu, "is stopped");
    notice_event(&vcpu, "starts");
    assert_int_equal(report(), 3);
    assert_string_equal(output, "flush; restarts; starts; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, prepare),
        cmocka_unit_test_setup(test_fault, prepare),
        cmocka_unit_test_setup(test_fault_of_a_device, prepare),
        cmocka_unit_test_setup(test_panic, prepare),
        cmocka_unit_test_setup(test_watchdog, prepare),
        cmocka_unit_test_setup(test_heartbeat, prepare),
        cmocka_unit_test_setup(test_fault_at_an_unknown_address, prepare),
        cmocka_unit_test_setup(test_event_after_a_fault, prepare),
        cmocka_unit_test_setup(test_two_events, prepare),
        cmocka_unit_test_setup(test_three_events, prepare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
