/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the terminal: lines are printed complete and under the right name. */
#include "console_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CONTROL 0
#define LINUX   2

static void test_line_is_set_up(void **state)
{
    (void)state;
    assert_int_equal(fake.line_control, LINE_FIFO | LINE_8_BITS);
    assert_int_equal(fake.control, CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE);
    assert_int_equal(fake.cleared, INTERRUPTS_ALL);
    terminal_init(FIXTURE_UART);
    assert_int_equal(fake.mask, 0);
}

static void test_formats(void **state)
{
    (void)state;
    terminal_print("%s %u %x %lu %lx.", "text", 4294967295u, 0xabcdef01u, 18446744073709551615ul,
                   0xfedcba9876543210ul);
    assert_string_equal(
        fixture_printed(),
        "bulkhead| text 4294967295 abcdef01 18446744073709551615 fedcba9876543210.\r\n");
    terminal_print("%u%x", 0u, 0u);
    assert_string_equal(fixture_printed(), "bulkhead| 00\r\n");
}

static void test_reports(void **state)
{
    const struct partition *partition = &fixture_partitions[LINUX];
    struct description_problem problem = {"of no use:", DESCRIPTION_NO_PARTITION, 0x12};

    (void)state;
    terminal_print_event(partition, "is off");
    assert_string_equal(fixture_printed(), "bulkhead| linux is off\r\n");
    terminal_failure(1, 2, 3);
    assert_string_equal(fixture_printed(),
                        "bulkhead| a monitor failed: address 0x3, syndrome 0x1, pc 0x2\r\n");
    terminal_explain("no memory at");
    terminal_failure(1, 2, 0x50000000);
    assert_string_equal(fixture_printed(),
                        "bulkhead| the system can't start: no memory at 0x50000000\r\n");
    terminal_explain(NULL);
    terminal_failure(1, 2, 3);
    assert_string_equal(fixture_printed(),
                        "bulkhead| a monitor failed: address 0x3, syndrome 0x1, pc 0x2\r\n");
    terminal_report_problem(FIXTURE_UART, &problem);
    assert_string_equal(fixture_printed(), "bulkhead| the system can't start: of no use: 0x12\r\n");
    problem.partition = 2;
    terminal_report_problem(FIXTURE_UART, &problem);
    assert_string_equal(fixture_printed(), "bulkhead| in the description of partition 2:\r\n"
                                           "bulkhead| the system can't start: of no use: 0x12\r\n");
    terminal_failed("no such core:", 16);
    assert_string_equal(fixture_printed(),
                        "bulkhead| the system can't start: no such core: 0x10\r\n");
}

static void test_lines_of_others_in_between(void **state)
{
    (void)state;
    terminal_write_line(&fixture_partitions[LINUX], "login: ", 0, 7, false);
    assert_string_equal(fixture_printed(), "linux| login: ");
    terminal_write_line(&fixture_partitions[LINUX], "login: r", 7, 8, false);
    assert_string_equal(fixture_printed(), "r");
    terminal_write_line(&fixture_partitions[CONTROL], "tick", 0, 4, true);
    assert_string_equal(fixture_printed(), "\r\ncontrol| tick\r\n");
    terminal_write_line(&fixture_partitions[LINUX], "login: ro", 8, 9, false);
    assert_string_equal(fixture_printed(), "linux| login: ro");
    terminal_print("a report");
    assert_string_equal(fixture_printed(), "\r\nbulkhead| a report\r\n");
    terminal_write_line(&fixture_partitions[LINUX], "login: root", 9, 11, true);
    assert_string_equal(fixture_printed(), "linux| login: root\r\n");
    terminal_write_line(&fixture_partitions[LINUX], "", 0, 0, true);
    assert_string_equal(fixture_printed(), "linux| \r\n");
}

static void test_terminal_that_accepts_nothing(void **state)
{
    (void)state;
    fake.full = true;
    terminal_print("kept until it takes something");
    assert_true(fake.looks < 10);
    assert_true((fake.mask & INTERRUPT_TRANSMIT) != 0);
    fake.full = false;
    fixture_send_output();
    assert_string_equal(fixture_printed(), "bulkhead| kept until it takes something\r\n");
    assert_true((fake.mask & INTERRUPT_TRANSMIT) == 0);

    fake.full = true;
    for (unsigned i = 0; i < 200; i++) { /* the buffered text has a bound */
        terminal_print("0123456789abcdef");
    }
    terminal_print("not printed");
    assert_true(fake.looks < 1000); /* nobody waits */
    fake.full = false;
    assert_null(strstr(fixture_printed(), "not printed"));
    assert_true((fake.mask & INTERRUPT_TRANSMIT) == 0);
    terminal_print("back");
    assert_string_equal(fixture_printed(), "bulkhead| back\r\n");
}

#define TEN "0123456789"

/* No exit sends many bytes, however many the PL011 accepts, and none is left. */
static void test_many_lines_are_sent_in_pieces(void **state)
{
    size_t interrupts = 0;

    (void)state;
    fake.full = true;
    for (unsigned i = 0; i < 10; i++) {
        terminal_print(TEN TEN TEN TEN TEN);
    }
    fake.full = false;
    while ((fake.mask & INTERRUPT_TRANSMIT) != 0) {
        size_t before = fake.printed_bytes;

        fixture_interrupt();
        assert_true(fake.printed_bytes - before <= 64);
        interrupts++;
    }
    assert_int_equal(fake.printed_bytes, 10 * strlen("bulkhead| " TEN TEN TEN TEN TEN "\r\n"));
    assert_int_equal(interrupts, (fake.printed_bytes + 63) / 64);
}

/* A partition that waits for room is called, also if a message of the hypervisor was what emptied
 * the ring. */
static void test_room_that_a_message_makes(void **state)
{
    struct partition *control = &fixture_partitions[CONTROL];
    char line[CONSOLE_LINE_BYTES];

    (void)state;
    memset(line, 'x', sizeof(line));
    fake.full = true;
    terminal_write_line(control, line, 0, sizeof(line), true);
    assert_false(terminal_has_room(control, TERMINAL_USUAL));
    fake.full = false;
    terminal_print("the input is for %s", "linux");
    assert_int_equal(fake.raised[CONTROL], 0);
    fixture_send_output();
    assert_int_equal(fake.raised[CONTROL], 1);
    assert_int_equal(fake.mask & INTERRUPT_TRANSMIT, 0);
}

static void send_everything(void)
{
    fake.full = false;
    fixture_send_output();
}

static unsigned count(const char *text, const char *part)
{
    unsigned times = 0;

    for (const char *found = strstr(text, part); found != NULL; found = strstr(found + 1, part)) {
        times++;
    }
    return times;
}

/* A partition that restarts in a loop crowds out no message about another one, no message of the
 * hypervisor, and not the report of its own fault. */
static void test_no_partition_crowds_out_a_message(void **state)
{
    struct partition *restarting = &fixture_partitions[CONTROL];
    const struct partition *other = &fixture_partitions[LINUX];
    const char *printed;

    (void)state;
    fake.full = true;
    for (unsigned i = 0; i < 1000; i++) {
        terminal_print_event(restarting, "restarts");
    }
    terminal_add_fault(restarting, "is stopped: core %u", 1u);
    terminal_add_fault(other, "is stopped: core %u", 2u);
    terminal_print_event(other, "restarts");
    terminal_print("the input is for %s", "linux");
    send_everything();
    printed = fixture_printed();
    assert_int_equal(count(printed, "bulkhead| control is stopped: core 1\r\n"), 1);
    assert_int_equal(count(printed, "bulkhead| linux is stopped: core 2\r\n"), 1);
    assert_int_equal(count(printed, "bulkhead| linux restarts\r\n"), 1);
    assert_int_equal(count(printed, "bulkhead| the input is for linux\r\n"), 1);
    assert_int_equal(count(printed, "bulkhead| dropped messages about"), 1);
}

/* Each dropped message is counted, also if the partition causes no more. */
static void test_dropped_messages_are_counted(void **state)
{
    unsigned dropped = 0;
    const char *printed, *report;

    (void)state;
    fake.full = true;
    for (unsigned i = 0; i < 100; i++) {
        terminal_print_event(&fixture_partitions[CONTROL], "restarts");
    }
    send_everything();
    printed = fixture_printed();
    report = strstr(printed, "bulkhead| dropped messages about control: ");
    assert_non_null(report);
    assert_int_equal(sscanf(report, "bulkhead| dropped messages about control: %u\r\n", &dropped),
                     1);
    assert_int_equal(dropped + count(printed, "control restarts"), 100);
    fake.full = true;
    for (unsigned i = 0; i < 100; i++) {
        terminal_print("0123456789abcdef");
    }
    send_everything();
    assert_int_equal(count(fixture_printed(), "bulkhead| dropped messages: "), 1);
}

/* A monitor that fails is reported, whatever was printed before. */
static void test_failure_after_many_messages(void **state)
{
    (void)state;
    fake.full = true;
    for (unsigned i = 0; i < 100; i++) {
        terminal_print("0123456789abcdef");
    }
    fake.full = false;
    terminal_failure(1, 2, 3);
    assert_int_equal(count(fixture_printed(), "bulkhead| a monitor failed"), 1);
}

/* Before the PL011 interrupts, it is waited for, once. */
static void test_boot_waits_for_the_terminal(void **state)
{
    uint64_t looks;

    (void)state;
    fixture_boot();
    fake.full = true;
    terminal_print("lost");
    looks = fake.looks;
    assert_true(looks > 1000);
    assert_true(looks < 100000000);
    terminal_print("lost at once: it is not waited for again");
    assert_true(fake.looks - looks < 100);
    fake.full = false;
    terminal_print("back");
    assert_string_equal(fixture_printed(), "bulkhead| back\r\n");
}

/* However many lines the others and the hypervisor print, a partition's line is printed whole, and
 * no monitor waits. */
static void test_no_printer_takes_the_room_of_another(void **state)
{
    struct partition *control = &fixture_partitions[CONTROL];
    const struct partition *other = &fixture_partitions[LINUX];
    char line[CONSOLE_LINE_BYTES];

    (void)state;
    memset(line, 'x', sizeof(line));
    fake.full = true;
    for (unsigned i = 0; i < 300; i++) {
        terminal_print_event(control, "restarts");
        if (terminal_has_room(control, TERMINAL_LAST)) {
            terminal_write_line(control, line, 0, sizeof(line), true);
        }
    }
    assert_true(terminal_has_room(other, TERMINAL_USUAL));
    terminal_write_line(other, "login:", 0, 6, true);
    assert_false(terminal_has_room(control, TERMINAL_USUAL));
    assert_true(fake.looks < 2000);
    send_everything();
    assert_non_null(strstr(fixture_printed(), "\r\nlinux| login:\r\n"));
    assert_true(terminal_has_room(control, TERMINAL_USUAL));
}

/* Without a partition with a console, the PL011 interrupts for room, and not for input, which
 * nobody would read. */
static void test_messages_without_a_console(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PARTITIONS; i++) {
        fixture_system.partitions[i].console = 0;
        fixture_system.partitions[i].console_input = 0;
    }
    fixture_boot();
    input_start(&fixture_system);
    assert_int_equal(fake.mask, 0);
    fake.full = true;
    terminal_print("later");
    assert_int_equal(fake.mask, INTERRUPT_TRANSMIT);
    fake.full = false;
    fake.typed_bytes = 1;
    fixture_interrupt();
    assert_int_equal(fake.typed_bytes, 1); /* keys are nobody's */
    assert_string_equal(fixture_printed(), "bulkhead| later\r\n");
    assert_int_equal(fake.mask, 0);
}

static void test_without_a_terminal(void **state)
{
    (void)state;
    fixture_system.board.uart = 0;
    terminal_init(0);
    fake.looks = 0;
    fake.mask = 0;
    terminal_print("nowhere");
    input_start(&fixture_system);
    terminal_failed("nowhere", 0);
    assert_int_equal(fake.printed_bytes, 0);
    assert_int_equal(fake.looks, 0);
    assert_int_equal(fake.mask, 0);
}

#define THREADS 3u
#define LINES   100u

static void *print_lines(void *argument)
{
    const struct partition *partition = argument;

    for (unsigned i = 0; i < LINES; i++) {
        if (i % 2 == 0) {
            terminal_print("%s %s", partition->constant.described->name,
                           partition->constant.described->name);
        } else {
            terminal_write_line(partition, partition->constant.described->name, 0,
                                (uint32_t)strlen(partition->constant.described->name), true);
        }
    }
    return NULL;
}

/* Without the lock the model of the PL011 would lose bytes, and lines would mix. */
static void test_lines_of_several_cores(void **state)
{
    pthread_t threads[THREADS];
    unsigned lines = 0;

    (void)state;
    fake.yields = true;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, print_lines, &fixture_partitions[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    fixture_send_output();
    for (char *line = fake.printed; *line != '\0'; lines++) {
        char *end = strstr(line, "\r\n");
        bool known = false;

        assert_non_null(end);
        *end = '\0';
        for (unsigned i = 0; i < THREADS; i++) {
            const char *name = fixture_system.partitions[i].name;
            char own[64], report[64];

            (void)snprintf(own, sizeof(own), "%s| %s", name, name);
            (void)snprintf(report, sizeof(report), "bulkhead| %s %s", name, name);
            known = known || strcmp(line, own) == 0 || strcmp(line, report) == 0;
        }
        assert_true(known);
        line = end + 2;
    }
    assert_int_equal(lines, THREADS * LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_line_is_set_up, fixture_set_up),
        cmocka_unit_test_setup(test_formats, fixture_set_up),
        cmocka_unit_test_setup(test_reports, fixture_set_up),
        cmocka_unit_test_setup(test_lines_of_others_in_between, fixture_set_up),
        cmocka_unit_test_setup(test_terminal_that_accepts_nothing, fixture_set_up),
        cmocka_unit_test_setup(test_many_lines_are_sent_in_pieces, fixture_set_up),
        cmocka_unit_test_setup(test_room_that_a_message_makes, fixture_set_up),
        cmocka_unit_test_setup(test_no_partition_crowds_out_a_message, fixture_set_up),
        cmocka_unit_test_setup(test_dropped_messages_are_counted, fixture_set_up),
        cmocka_unit_test_setup(test_failure_after_many_messages, fixture_set_up),
        cmocka_unit_test_setup(test_boot_waits_for_the_terminal, fixture_set_up),
        cmocka_unit_test_setup(test_no_printer_takes_the_room_of_another, fixture_set_up),
        cmocka_unit_test_setup(test_messages_without_a_console, fixture_set_up),
        cmocka_unit_test_setup(test_without_a_terminal, fixture_set_up),
        cmocka_unit_test_setup(test_lines_of_several_cores, fixture_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
