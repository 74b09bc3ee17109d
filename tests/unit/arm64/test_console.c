/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The console's ring and its way to the line, with a serial line whose every byte the test lets
 * out.
 */
#include "kernel_fixture.h"
#include <stdio.h>
#include <string.h>

/* With its state, so that each test has a new one. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "console/console.c"

#define FIFO_BYTES 16u

static struct {
    bool present;
    bool stuck;          /* the line takes nothing any more */
    unsigned fifo_bytes; /* the last so many of `sent` are in the FIFO, the others on the wire */
    bool want_room;
    bool want_input;
    interrupt_handler handler;
    char sent[65536];
    size_t sent_bytes;
    char typed[256];
    size_t typed_bytes;
    size_t typed_taken;
} line;

uintptr_t serial_line_find(void)
{
    return line.present ? 0x1000 : 0;
}

bool serial_line_interrupt(uint32_t *number, enum interrupt_trigger *trigger)
{
    *number = 33;
    *trigger = INTERRUPT_LEVEL;
    return true;
}

enum result interrupt_attach(uint32_t number, enum interrupt_trigger trigger,
                             interrupt_handler function, void *argument)
{
    assert_int_equal(number, 33);
    assert_int_equal(trigger, INTERRUPT_LEVEL);
    assert_null(argument);
    line.handler = function;
    return RESULT_OK;
}

void pl011_init(struct pl011 *uart, uintptr_t registers)
{
    uart->registers = registers;
}

/* Whoever waits for the line lets time pass. */
bool pl011_put(const struct pl011 *uart, uint8_t byte)
{
    assert_int_equal(uart->registers, 0x1000);
    if (line.fifo_bytes == FIFO_BYTES) {
        line.fifo_bytes -= console.waiting && !line.stuck ? 1 : 0;
        return false;
    }
    assert_true(line.sent_bytes < sizeof line.sent);
    line.sent[line.sent_bytes++] = (char)byte;
    line.fifo_bytes++;
    return true;
}

bool pl011_is_idle(const struct pl011 *uart)
{
    assert_int_equal(uart->registers, 0x1000);
    line.fifo_bytes -= line.fifo_bytes > 0 && !line.stuck ? 1 : 0;
    return line.fifo_bytes == 0;
}

bool pl011_get(const struct pl011 *uart, uint8_t *byte)
{
    assert_int_equal(uart->registers, 0x1000);
    if (line.typed_taken == line.typed_bytes) {
        return false;
    }
    *byte = (uint8_t)line.typed[line.typed_taken++];
    return true;
}

void pl011_want_room(const struct pl011 *uart, bool wanted)
{
    assert_int_equal(uart->registers, 0x1000);
    line.want_room = wanted;
}

void pl011_want_input(const struct pl011 *uart, bool wanted)
{
    assert_int_equal(uart->registers, 0x1000);
    line.want_input = wanted;
}

void pl011_acknowledge(const struct pl011 *uart)
{
    assert_int_equal(uart->registers, 0x1000);
}

static int set_up(void **state)
{
    (void)state;
    memset(&console, 0, sizeof console);
    memset(&line, 0, sizeof line);
    line.present = true;
    return 0;
}

static void start_line(void)
{
    console_init();
    console_start();
    assert_true(line.want_input);
}

static void write(const char *text)
{
    console_write(text, strlen(text));
}

/* The FIFO runs empty, and the line interrupts if it was asked to, until nothing moves. */
static void let_out(void)
{
    while (line.fifo_bytes > 0) {
        line.fifo_bytes = 0;
        if (line.want_room) {
            line.handler(NULL);
        }
    }
}

static void expect_sent(const char *text)
{
    assert_int_equal(line.sent_bytes, strlen(text));
    assert_memory_equal(line.sent, text, line.sent_bytes);
}

static void test_waits_for_the_line(void **state)
{
    (void)state;
    write("early\n");
    console_init();
    expect_sent("early\r\n");
    write("later\n");
    expect_sent("early\r\nlater\r\n");
}

static void test_interrupts_drain(void **state)
{
    (void)state;
    start_line();
    write("the quick brown fox jumps over the lazy dog\n");
    assert_int_equal(line.sent_bytes, FIFO_BYTES);
    assert_true(line.want_room);
    let_out();
    expect_sent("the quick brown fox jumps over the lazy dog\r\n");
    assert_false(line.want_room);
}

static void test_no_line(void **state)
{
    (void)state;
    line.present = false;
    write("early\n");
    console_init();
    console_start();
    for (unsigned i = 0; i < 10000; i++) {
        write("nobody reads this\n");
    }
    console_poll();
    assert_int_equal(line.sent_bytes, 0);
    assert_int_equal(console.dropped, 0);
}

static void test_loss_is_counted(void **state)
{
    char expected[64];
    size_t kept = FIFO_BYTES + RING_BYTES;

    (void)state;
    start_line();
    for (unsigned i = 0; i < 600; i++) {
        write("12345678\n");
    }
    (void)snprintf(expected, sizeof expected, "\r\n[console: %zu bytes dropped]\r\n",
                   (size_t)600 * 10 - kept);
    let_out();
    assert_int_equal(line.sent_bytes, kept + strlen(expected));
    assert_memory_equal(line.sent + kept, expected, strlen(expected));
    assert_memory_equal(line.sent, "12345678\r\n12345678\r\n", 20);
    line.sent_bytes = 0;
    write("after\n");
    let_out();
    expect_sent("after\r\n");
}

static void test_poll_sends_all(void **state)
{
    (void)state;
    start_line();
    write("this does not fit into the line's own buffer\n");
    console_poll();
    write("and this comes after it, at once\n");
    expect_sent("this does not fit into the line's own buffer\r\n"
                "and this comes after it, at once\r\n");
}

static void test_poll_gives_up(void **state)
{
    (void)state;
    start_line();
    line.stuck = true;
    write("this does not fit into the line's own buffer\n");
    console_poll();
    assert_int_equal(line.sent_bytes, FIFO_BYTES);
    write("nor does this\n");
    assert_int_equal(line.sent_bytes, FIFO_BYTES);
}

static void type(const char *text)
{
    line.typed_bytes = strlen(text);
    line.typed_taken = 0;
    memcpy(line.typed, text, line.typed_bytes);
    while (line.typed_taken < line.typed_bytes) {
        size_t before = line.typed_taken;

        line.handler(NULL);
        assert_true(line.typed_taken - before <= INPUT_BYTES); /* a handler is short */
    }
}

static void test_input(void **state)
{
    char text[101];
    char byte;

    (void)state;
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_TIMED_OUT);
    start_line();
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_TIMED_OUT);
    type("ab");
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_OK);
    assert_int_equal(byte, 'a');
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_OK);
    assert_int_equal(byte, 'b');
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_TIMED_OUT);
    /* More than the queue holds: the first of it stays. */
    for (size_t i = 0; i < 100; i++) {
        text[i] = (char)(' ' + i % 90);
    }
    text[100] = '\0';
    type(text);
    for (size_t i = 0; i < INPUT_BYTES; i++) {
        assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_OK);
        assert_int_equal(byte, text[i]);
    }
    assert_int_equal(console_read(&byte, DEADLINE_POLL), RESULT_TIMED_OUT);
}

static void test_ring_wraps(void **state)
{
    char text[64];
    size_t checked = 0;

    (void)state;
    start_line();
    console.read = console.write = UINT32_MAX - 100;
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "number %u\n", i);
        write(text);
        let_out();
        (void)snprintf(text, sizeof text, "number %u\r\n", i);
        assert_memory_equal(line.sent + checked, text, strlen(text));
        checked += strlen(text);
    }
    assert_int_equal(checked, line.sent_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_waits_for_the_line, set_up),
        cmocka_unit_test_setup(test_interrupts_drain, set_up),
        cmocka_unit_test_setup(test_no_line, set_up),
        cmocka_unit_test_setup(test_loss_is_counted, set_up),
        cmocka_unit_test_setup(test_poll_sends_all, set_up),
        cmocka_unit_test_setup(test_poll_gives_up, set_up),
        cmocka_unit_test_setup(test_input, set_up),
        cmocka_unit_test_setup(test_ring_wraps, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
