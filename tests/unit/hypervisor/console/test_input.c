/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which partition receives the terminal's input. */
#include "console_fixture.h"

#include "console/input_flow.h"
#include "console/key_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CONTROL      0
#define NET          1
#define LINUX        2
#define CONTROL_CORE 2
#define NET_CORE     1
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
        fixture_interrupt();
        request = fake.request[LINUX];
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

/* Input after a command that stops the partition is read by the next interrupt. */
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
    assert_string_equal(fixture_printed(), "bulkhead| the input is for control\r\ncontrol| > ");
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

/* A partition whose guest can shut its core leaves the interrupt to one whose guest can't. */
static void test_interrupt_goes_to_a_safe_core(void **state)
{
    (void)state;
    fixture_system.partitions[NET].interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED;
    input_start(&fixture_system);
    assert_int_equal(terminal_input_owner(), LINUX);
    assert_int_equal(fake.route, NET_CORE);
    fixture_type("a\x1d"
                 "b\x1d");
    assert_int_equal(fake.route, NET_CORE);
    fixture_system.partitions[CONTROL].interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED;
    fixture_type("\x1d");
    assert_int_equal(fake.route, CONTROL_CORE);
    expect_input(LINUX, "a");
    expect_input(CONTROL, "b");
}

/* Types text without letting partitions take their keys. Returns the partitions that are called,
 * and sets *recalled to those that are recalled. */
static uint32_t receive(const char *text, uint32_t *recalled)
{
    struct input_calls calls;

    strcpy((char *)fake.typed, text);
    fake.typed_first = 0;
    fake.typed_bytes = strlen(text);
    calls = input_receive(&fixture_system, fake.now);
    *recalled = calls.recalled;
    return calls.called;
}

/* The keys wait for a partition that does not take them, and others get theirs. */
static void test_partition_that_takes_no_keys(void **state)
{
    uint32_t recalled;

    (void)state;
    assert_int_equal(receive("one", &recalled), 1u << LINUX);
    assert_int_equal(receive("+\x1d", &recalled), 1u << LINUX | 1u << CONTROL);
    assert_int_equal(receive("two", &recalled), 1u << CONTROL);
    assert_int_equal(recalled, 0);
    assert_int_equal(input_take(&fixture_partitions[CONTROL]), REQUEST_NONE);
    expect_input(CONTROL, "two");
    expect_input(LINUX, "");
    assert_int_equal(input_take(&fixture_partitions[LINUX]), REQUEST_NONE);
    expect_input(LINUX, "one+");
}

/* A command finds room, and its repetition tells that it was not taken. */
static void test_command_for_a_partition_that_takes_no_keys(void **state)
{
    uint32_t recalled;

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        (void)receive("fifteen to lose", &recalled);
    }
    assert_int_equal(receive("\x1es", &recalled), 0); /* for a second at most */
    input_flow_watch(&fixture_system, FIXTURE_SECOND + 1, FIXTURE_SECOND);
    assert_int_equal(receive("\x1es", &recalled), 1u << LINUX);
    assert_int_equal(recalled, 1u << LINUX);
    assert_string_equal(fixture_printed(),
                        "bulkhead| linux takes no input: further bytes are lost\r\n");
    assert_int_equal(receive("\x1er", &recalled), 1u << LINUX);
    assert_int_equal(recalled, 1u << LINUX);
    assert_string_equal(fixture_printed(), "bulkhead| linux waits: core 0 does not answer\r\n");
    for (unsigned i = 0; i < 7; i++) { /* the keys before it, in batches */
        assert_int_equal(input_take(&fixture_partitions[LINUX]), REQUEST_NONE);
    }
    assert_int_equal(input_take(&fixture_partitions[LINUX]), REQUEST_STOP);
    assert_false(terminal_has_key(LINUX));
    assert_int_equal(receive("\x1er", &recalled), 1u << LINUX);
    assert_string_equal(fixture_printed(), "");
    assert_int_equal(input_take(&fixture_partitions[LINUX]), REQUEST_RESET);
}

/* Room in the terminal's ring is told to the partition that has the input: it has more to show. */
static void test_room_for_the_partition_with_the_input(void **state)
{
    uint32_t called;

    (void)state;
    assert_int_equal(input_receive(&fixture_system, fake.now).called, 0);
    fake.full = true;
    for (unsigned i = 0; i < 40; i++) {
        fixture_write(LINUX, UARTDR, 'x');
        if ((fixture_read(LINUX, UARTFR) & FLAG_TRANSMIT_FULL) != 0) {
            break;
        }
        fixture_write(LINUX, UARTDR, '\n');
    }
    fake.full = false;
    do {
        assert_true((fake.mask & INTERRUPT_TRANSMIT) != 0);
        called = input_receive(&fixture_system, fake.now).called;
    } while (called == 0);
    assert_int_equal(called, 1u << LINUX);
    assert_true(fake.raised[LINUX] > 0);
}

/* The same text for each test. Returns it, terminated by 0. */
static const char *long_text(size_t bytes)
{
    static char text[sizeof(fake.typed) + 1];

    for (size_t i = 0; i < bytes; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[bytes] = '\0';
    return text;
}

/* Bytes that wait in the PL011. */
static void paste(const char *text)
{
    fake.typed_bytes = strlen(text);
    memcpy(fake.typed, text, fake.typed_bytes);
    fake.typed_first = 0;
}

/* Handles interrupts as long as there is input and they are enabled. */
static void take_input(void)
{
    for (unsigned n = 0; fake.typed_bytes != 0 && (fake.mask & INTERRUPT_RECEIVE) != 0; n++) {
        assert_true(n < 1000);
        fixture_interrupt();
    }
}

/* An exit handles few bytes. Those that a guest does not read at once wait, and none is lost. */
static void test_pasted_input(void **state)
{
    const char *text = long_text(sizeof(fake.typed));
    size_t read = 0;

    (void)state;
    paste(text);
    fixture_interrupt();
    assert_int_equal(fake.typed_bytes, sizeof(fake.typed) - 16);
    while (read < sizeof(fake.typed)) {
        take_input();
        for (unsigned n = 0; n < 5 && read < sizeof(fake.typed); n++) {
            assert_int_equal(fixture_read(LINUX, UARTFR) & FLAG_RECEIVE_EMPTY, 0);
            assert_int_equal(fixture_read(LINUX, UARTDR), text[read]);
            read++;
        }
    }
    expect_input(LINUX, "");
    assert_int_equal(fake.typed_bytes, 0);
    assert_string_equal(fixture_printed(), "");
}

/* A guest that reads nothing keeps Ctrl-] and Ctrl-^ waiting for a second. Then bytes are lost, and
 * messages say so. */
static void test_guest_that_reads_nothing(void **state)
{
    char text[1001];

    (void)state;
    fake.now = 5 * FIXTURE_SECOND;
    memcpy(text, long_text(sizeof(text) - 1), sizeof(text));
    text[sizeof(text) - 2] = 0x1d;
    paste(text);
    take_input();
    assert_true(fake.typed_bytes > 400);
    input_flow_watch(&fixture_system, fake.now + FIXTURE_SECOND - 1, FIXTURE_SECOND);
    assert_int_equal(fake.mask & INTERRUPT_RECEIVE, 0);
    input_flow_watch(&fixture_system, fake.now + FIXTURE_SECOND + 1, FIXTURE_SECOND);
    take_input();
    assert_int_equal(terminal_input_owner(), CONTROL);
    assert_string_equal(fixture_printed(),
                        "bulkhead| linux takes no input: further bytes are lost\r\n"
                        "bulkhead| the input is for control\r\n");
    text[CONSOLE_INPUT_BYTES + KEY_QUEUE_KEYS - 1] = '\0';
    expect_input(LINUX, text);
    assert_string_equal(fixture_printed(),
                        "bulkhead| linux takes input again; bytes that were lost: 488\r\n");
    fixture_type("\x1dx");
    expect_input(LINUX, "x");
    assert_string_equal(fixture_printed(), "bulkhead| the input is for linux\r\n");
}

/* Interrupts for output during the second do not prolong it, and neither does a core that has read
 * the counter before the pause began end it. */
static void test_pause_lasts_a_second(void **state)
{
    (void)state;
    fake.now = UINT64_C(5) * FIXTURE_SECOND;
    paste(long_text(1000));
    take_input();
    input_flow_watch(&fixture_system, fake.now - 1, FIXTURE_SECOND);
    assert_int_equal(fake.mask & INTERRUPT_RECEIVE, 0);
    for (unsigned tenths = 1; tenths < 10; tenths++) {
        (void)input_receive(&fixture_system, fake.now + tenths * FIXTURE_SECOND / 10);
    }
    assert_string_equal(fixture_printed(), "");
    input_flow_watch(&fixture_system, fake.now + FIXTURE_SECOND + 1, FIXTURE_SECOND);
    assert_true((fake.mask & INTERRUPT_RECEIVE) != 0);
    assert_string_equal(fixture_printed(),
                        "bulkhead| linux takes no input: further bytes are lost\r\n");
}

/* Bytes that a guest has not read are there for the next one. */
static void test_input_that_waits_for_the_next_guest(void **state)
{
    const char *text = long_text(CONSOLE_INPUT_BYTES + 50);

    (void)state;
    paste(text);
    take_input();
    uart_hold_input(&fixture_partitions[LINUX]);
    uart_reset(&fixture_partitions[LINUX]);
    uart_release_input(&fixture_partitions[LINUX]);
    expect_input(LINUX, text + CONSOLE_INPUT_BYTES);
}

/* A command stops a guest that reads nothing. */
static void test_command_behind_input_that_waits(void **state)
{
    (void)state;
    paste(long_text(CONSOLE_INPUT_BYTES + 100));
    take_input();
    assert_int_equal(type("\x1es"), REQUEST_STOP);
}

/* An exit handles few of the keys that are no bytes for the guest, and no key is lost. */
static void test_many_command_keys(void **state)
{
    char keys[41];
    unsigned interrupts = 0;

    (void)state;
    memset(keys, 0x1e, sizeof(keys) - 1);
    keys[sizeof(keys) - 1] = '\0';
    strcpy((char *)fake.typed, keys);
    fake.typed_first = 0;
    fake.typed_bytes = sizeof(keys) - 1;
    while (fake.typed_bytes != 0) {
        fixture_interrupt();
        interrupts++;
    }
    assert_int_equal(interrupts, 10); /* 4 keys each */
    expect_input(LINUX, keys);
}

/* Keys for a partition that shares its core wait in the PL011 while its queue is nearly full, so
 * they interrupt nobody until it has taken some. None is lost. */
static void test_keys_wait_for_a_partition_on_a_shared_core(void **state)
{
    char text[201];
    unsigned interrupts = 0, taken = 0;

    (void)state;
    fixture_system.partitions[LINUX].vcpus[0].shared = 1;
    for (unsigned i = 0; i < sizeof(text) - 1; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[sizeof(text) - 1] = '\0';
    memcpy(fake.typed, text, sizeof(text) - 1);
    fake.typed_bytes = sizeof(text) - 1;
    while ((fake.mask & INTERRUPT_RECEIVE) != 0 && fake.typed_bytes != 0) {
        (void)input_receive(&fixture_system, fake.now);
        interrupts++;
    }
    assert_int_equal(interrupts, 7); /* 16 keys each */
    assert_int_equal(fake.typed_bytes, sizeof(text) - 1 - 7 * 16);
    assert_int_equal(fake.mask & INTERRUPT_RECEIVE_TIMEOUT, 0);
    assert_int_equal(input_take(&fixture_partitions[CONTROL]), REQUEST_NONE);
    assert_int_equal(fake.mask & INTERRUPT_RECEIVE, 0);
    while (terminal_has_key(LINUX) || fake.typed_bytes != 0) {
        assert_int_equal(input_take(&fixture_partitions[LINUX]), REQUEST_NONE);
        if ((fake.mask & INTERRUPT_RECEIVE) != 0 && fake.typed_bytes != 0) {
            (void)input_receive(&fixture_system, fake.now);
        }
        assert_true(taken++ < sizeof(text));
    }
    assert_true((fake.mask & INTERRUPT_RECEIVE) != 0);
    expect_input(LINUX, text);
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
        cmocka_unit_test_setup(test_interrupt_goes_to_a_safe_core, fixture_set_up),
        cmocka_unit_test_setup(test_partition_that_takes_no_keys, fixture_set_up),
        cmocka_unit_test_setup(test_command_for_a_partition_that_takes_no_keys, fixture_set_up),
        cmocka_unit_test_setup(test_room_for_the_partition_with_the_input, fixture_set_up),
        cmocka_unit_test_setup(test_pasted_input, fixture_set_up),
        cmocka_unit_test_setup(test_guest_that_reads_nothing, fixture_set_up),
        cmocka_unit_test_setup(test_pause_lasts_a_second, fixture_set_up),
        cmocka_unit_test_setup(test_input_that_waits_for_the_next_guest, fixture_set_up),
        cmocka_unit_test_setup(test_command_behind_input_that_waits, fixture_set_up),
        cmocka_unit_test_setup(test_many_command_keys, fixture_set_up),
        cmocka_unit_test_setup(test_keys_wait_for_a_partition_on_a_shared_core, fixture_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
