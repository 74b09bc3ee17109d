/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which partition receives the terminal's input. */
#include "console_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CONTROL      0
#define NET          1
#define LINUX        2
#define CONTROL_CORE 2
#define LINUX_CORE   0

static void expect_input(unsigned partition, const char *text)
{
    for (; *text != '\0'; text++) {
        assert_int_equal(fixture_read(partition, UARTFR) & FLAG_RECEIVE_EMPTY, 0);
        assert_int_equal(fixture_read(partition, UARTDR), *text);
    }
    assert_int_equal(fixture_read(partition, UARTFR) & FLAG_RECEIVE_EMPTY, FLAG_RECEIVE_EMPTY);
}

static void test_start(void **state)
{
    (void)state;
    assert_int_equal(terminal_input_owner(), LINUX);
    assert_int_equal(fake.routes, 1);
    assert_int_equal(fake.route, LINUX_CORE);
    assert_int_equal(fake.mask, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);

    /* Then the first partition with a console has the input. */
    fixture_system.partitions[LINUX].console_input = 0;
    input_start(&fixture_system);
    assert_int_equal(terminal_input_owner(), CONTROL);
    assert_int_equal(fake.route, CONTROL_CORE);
    fixture_system.partitions[CONTROL].console = 0;
    input_start(&fixture_system);
    assert_int_equal(terminal_input_owner(), LINUX);

    /* Or no partition has it: then the PL011 interrupts only for room. */
    fixture_system.partitions[LINUX].console = 0;
    fake.routes = 0;
    input_start(&fixture_system);
    assert_int_equal(terminal_input_owner(), DESCRIPTION_NO_PARTITION);
    assert_int_equal(fake.routes, 1);
    assert_int_equal(fake.route, CONTROL_CORE);
    assert_int_equal(fake.mask, 0);
}

static void test_no_interrupt_no_input(void **state)
{
    (void)state;
    fixture_system.board.uart_interrupt = 0;
    fake.routes = 0;
    fake.mask = 0;
    input_start(&fixture_system);
    assert_int_equal(terminal_input_owner(), LINUX);
    assert_int_equal(fake.routes, 0);
    assert_int_equal(fake.mask, 0);
}

static void test_input_goes_to_its_owner(void **state)
{
    (void)state;
    fixture_write(LINUX, UARTIMSC, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
    fixture_type("ls\r");
    assert_true(fake.raised[LINUX] > 0);
    assert_int_equal(fake.raised[CONTROL], 0);
    expect_input(LINUX, "ls\r");
    expect_input(CONTROL, "");
    assert_string_equal(fixture_printed(), ""); /* the guest echoes input */
}

static void test_switching(void **state)
{
    (void)state;
    fixture_type("one\x1dtwo\x1dthree\x1d\x1d");
    assert_string_equal(fixture_printed(), "bulkhead| the input is for control\r\n"
                                           "bulkhead| the input is for linux\r\n"
                                           "bulkhead| the input is for control\r\n"
                                           "bulkhead| the input is for linux\r\n");
    expect_input(LINUX, "onethree");
    expect_input(CONTROL, "two");
    assert_int_equal(fake.route, LINUX_CORE);
    assert_int_equal(fake.routes, 5);
}

static enum partition_request type(const char *text)
{
    enum partition_request request;

    strcpy((char *)fake.typed, text);
    fake.typed_first = 0;
    fake.typed_bytes = strlen(text);
    do {
        request = terminal_input(&fixture_partitions[LINUX]);
    } while (request == REQUEST_NONE && fake.typed_bytes != 0);
    return request;
}

static void test_commands(void **state)
{
    (void)state;
    assert_int_equal(type("a\x1es"), REQUEST_STOP);
    assert_int_equal(type("b\x1er"), REQUEST_RESET);
    expect_input(LINUX, "ab");
    assert_int_equal(type("s\x1e"), REQUEST_NONE);
    assert_int_equal(type("r"), REQUEST_RESET); /* the second key may come later */
    assert_int_equal(type("\x1ex"), REQUEST_NONE);
    assert_int_equal(type("\x1e\x1es"), REQUEST_NONE);
    expect_input(LINUX, "s\x1ex\x1e\x1es");
    assert_int_equal(type("\x1e\x1d"), REQUEST_NONE);
    assert_string_equal(fixture_printed(), "bulkhead| the input is for control\r\n");
    expect_input(LINUX, "\x1e");
}

/* Input after a command that stops the partition stays in the FIFO. */
static void test_input_after_a_command_stays_in_the_fifo(void **state)
{
    (void)state;
    assert_int_equal(type("\x1esx"), REQUEST_STOP);
    assert_int_equal(fake.typed_bytes, 1);
    expect_input(LINUX, "");
}

static void test_switching_with_one_console(void **state)
{
    (void)state;
    fixture_system.partitions[CONTROL].console = 0;
    fixture_type("a\x1d"
                 "b");
    assert_string_equal(fixture_printed(), "bulkhead| the input is for linux\r\n");
    expect_input(LINUX, "ab");
}

/* Shows the prompt of the partition that has just received the input. */
static void test_prompt_after_switching(void **state)
{
    (void)state;
    fixture_send(CONTROL, "> ");
    assert_string_equal(fixture_printed(), "");
    fixture_type("\x1d");
    (void)fixture_printed();
    terminal_input(&fixture_partitions[CONTROL]); /* gic_route() made its interrupt pending */
    assert_string_equal(fixture_printed(), "control| > ");
    fixture_send(CONTROL, "x");
    assert_string_equal(fixture_printed(), "x");
    fixture_send(LINUX, "no longer at once");
    assert_string_equal(fixture_printed(), "");
    /* After a line of another partition the next key shows the prompt again. */
    fixture_send(LINUX, "\n");
    assert_string_equal(fixture_printed(), "\r\nlinux| no longer at once\r\n");
    fixture_type("y");
    assert_string_equal(fixture_printed(), "control| > x");
}

/* The interrupt was on its way when the input moved to another partition. */
static void test_stale_interrupt(void **state)
{
    (void)state;
    fixture_send(CONTROL, "no prompt of mine");
    fake.typed[0] = 'x';
    fake.typed_bytes = 1;
    terminal_input(&fixture_partitions[CONTROL]);
    terminal_input(&fixture_partitions[NET]);
    assert_int_equal(fake.typed_bytes, 1);
    assert_string_equal(fixture_printed(), "");
    terminal_input(&fixture_partitions[LINUX]);
    expect_input(LINUX, "x");
}

/* Endless input does not keep the monitor busy. Input beyond the buffer is lost, but not the key
 * that switches the input. */
static void test_input_beyond_the_buffer(void **state)
{
    char text[CONSOLE_INPUT_BYTES + 101];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(fake.typed, text, sizeof(text) - 1);
    fake.typed_bytes = sizeof(text) - 1;
    terminal_input(&fixture_partitions[LINUX]);
    assert_int_equal(fake.typed_bytes, sizeof(text) - 1 - 32);
    text[sizeof(text) - 2] = 0x1d;
    fixture_type(text);
    assert_int_equal(terminal_input_owner(), CONTROL);
    text[CONSOLE_INPUT_BYTES] = '\0';
    expect_input(LINUX, text);
    expect_input(CONTROL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_start, fixture_set_up),
        cmocka_unit_test_setup(test_no_interrupt_no_input, fixture_set_up),
        cmocka_unit_test_setup(test_input_goes_to_its_owner, fixture_set_up),
        cmocka_unit_test_setup(test_switching, fixture_set_up),
        cmocka_unit_test_setup(test_commands, fixture_set_up),
        cmocka_unit_test_setup(test_input_after_a_command_stays_in_the_fifo, fixture_set_up),
        cmocka_unit_test_setup(test_switching_with_one_console, fixture_set_up),
        cmocka_unit_test_setup(test_prompt_after_switching, fixture_set_up),
        cmocka_unit_test_setup(test_stale_interrupt, fixture_set_up),
        cmocka_unit_test_setup(test_input_beyond_the_buffer, fixture_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
