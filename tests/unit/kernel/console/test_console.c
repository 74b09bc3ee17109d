/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the console's ring and its output, with a serial line that sends a byte only when the test
 * lets it.
 */
#include "kernel_fixture.h"
#include <stdio.h>
#include <string.h>

/* With its state, so that each test has a new one. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "console/console.c"

#define FIFO_BYTES 16u

static struct {
    bool present;
    bool stuck;          /* the line accepts nothing any more */
    unsigned fifo_bytes; /* number of the last bytes of `sent` that are in the FIFO */
    unsigned room;       /* unused part of the room that pl011_room() reported */
    bool moves;          /* a byte leaves the FIFO each time the driver reads the line's state */
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

/* Polling the line lets time pass. */
unsigned pl011_room(const struct pl011 *uart)
{
    assert_int_equal(uart->registers, 0x1000);
    if (line.fifo_bytes != 0 && (line.moves || console.polling) && !line.stuck) {
        line.fifo_bytes--;
    }
    line.room = line.fifo_bytes == 0 ? PL011_FIFO_BYTES : line.fifo_bytes < FIFO_BYTES ? 1 : 0;
    return line.room;
}

void pl011_send(const struct pl011 *uart, uint8_t byte)
{
    assert_int_equal(uart->registers, 0x1000);
    assert_true(line.room > 0); /* else the byte would be lost */
    assert_true(line.sent_bytes < sizeof line.sent);
    line.room--;
    line.sent[line.sent_bytes++] = (char)byte;
    line.fifo_bytes++;
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

void pl011_enable_input(const struct pl011 *uart)
{
    assert_int_equal(uart->registers, 0x1000);
    line.want_input = true;
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

/* Before the thread runs, text that does not fit into the FIFO waits for the next text. */
static void test_before_the_thread(void **state)
{
    (void)state;
    start_line();
    write("the quick brown fox jumps over the lazy dog\n");
    assert_int_equal(line.sent_bytes, FIFO_BYTES);
    line.fifo_bytes = 0;
    write("");
    assert_int_equal(line.sent_bytes, 2 * FIFO_BYTES);
}

static void sleep_a_while(void)
{
    thread_sleep_until(time_after(NANOSECONDS_PER_SECOND));
}

static void init_thread_sends(void)
{
    start_line();
    line.moves = true;
    console_start_thread();
    CHECK_EQUAL(thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST), RESULT_OK);
    write("the quick brown fox jumps over the lazy dog\n");
    CHECK_EQUAL(line.sent_bytes, 0); /* printing does not access the line */
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes, 45);
}

static void test_thread_sends_output(void **state)
{
    (void)state;
    kernel_run(init_thread_sends);
    expect_sent("the quick brown fox jumps over the lazy dog\r\n");
}

static void note_urgent(void *argument)
{
    (void)argument;
    note("urgent");
}

static void wake_urgent(void *argument)
{
    (void)thread_set_priority(argument, THREAD_PRIORITY_HIGHEST);
}

/* A thread made ready by an interrupt runs at once, because only one byte is sent with interrupts
 * masked. */
static void init_one_byte_at_a_time(void)
{
    struct thread *urgent;
    size_t before;

    (void)set_up(NULL);
    start_line();
    line.moves = true;
    console_start_thread();
    urgent = start("urgent", THREAD_PRIORITY_LOWEST, note_urgent, NULL);
    before = line.sent_bytes;
    sweep_interrupt(wake_urgent, urgent);
    write("the quick brown fox\n");
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes - before, 21);
    finish(urgent);
    CHECK_NOTES("urgent");
}

static void test_one_byte_at_a_time(void **state)
{
    (void)state;
    kernel_sweep(init_one_byte_at_a_time, 2 * 21);
}

/* A line that stands still is polled less and less often, and works again when it moves. */
static void init_line_that_stands_still(void)
{
    struct scheduler_statistics before;
    struct scheduler_statistics after;

    start_line();
    line.stuck = true;
    console_start_thread();
    write("the quick brown fox jumps over the lazy dog\n");
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes, FIFO_BYTES);
    scheduler_statistics(&before);
    for (unsigned i = 0; i < 10; i++) {
        sleep_a_while();
    }
    scheduler_statistics(&after);
    CHECK(after.context_switches - before.context_switches < 400);
    line.stuck = false;
    line.moves = true;
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes, 45);
}

static void test_stalled_line(void **state)
{
    (void)state;
    kernel_run(init_line_that_stands_still);
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

static void init_loss(void)
{
    char expected[64];
    size_t sent = RING_BYTES + RING_BYTES / 9; /* including the carriage returns of whole lines */

    start_line();
    line.moves = true;
    console_start_thread();
    CHECK_EQUAL(thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST), RESULT_OK);
    for (unsigned i = 0; i < 600; i++) {
        write("12345678\n");
    }
    (void)snprintf(expected, sizeof expected, "\r\n[console: %zu bytes dropped]\r\n",
                   (size_t)600 * 9 - RING_BYTES);
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes, sent + strlen(expected));
    CHECK(memcmp(line.sent + sent, expected, strlen(expected)) == 0);
    CHECK(memcmp(line.sent, "12345678\r\n12345678\r\n", 20) == 0);
    line.sent_bytes = 0;
    write("after\n");
    sleep_a_while();
    CHECK_EQUAL(line.sent_bytes, 7);
    CHECK(memcmp(line.sent, "after\r\n", 7) == 0);
}

static void test_loss_is_counted(void **state)
{
    (void)state;
    kernel_run(init_loss);
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
        assert_true(line.typed_taken - before <= INPUT_BYTES); /* a handler must be short */
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
    /* The input exceeds the queue, which keeps the beginning. */
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

static void init_ring_wraps(void)
{
    char text[64];
    size_t checked = 0;

    start_line();
    line.moves = true;
    console.read = console.write = UINT32_MAX - 100;
    console_start_thread();
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "number %u\n", i);
        write(text);
        thread_sleep_until(time_after(NANOSECONDS_PER_SECOND));
        (void)snprintf(text, sizeof text, "number %u\r\n", i);
        CHECK(memcmp(line.sent + checked, text, strlen(text)) == 0);
        checked += strlen(text);
    }
    CHECK_EQUAL(checked, line.sent_bytes);
}

static void test_ring_wraps(void **state)
{
    (void)state;
    kernel_run(init_ring_wraps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_waits_for_the_line, set_up),
        cmocka_unit_test_setup(test_before_the_thread, set_up),
        cmocka_unit_test_setup(test_thread_sends_output, set_up),
        cmocka_unit_test_setup(test_one_byte_at_a_time, set_up),
        cmocka_unit_test_setup(test_stalled_line, set_up),
        cmocka_unit_test_setup(test_no_line, set_up),
        cmocka_unit_test_setup(test_loss_is_counted, set_up),
        cmocka_unit_test_setup(test_poll_sends_all, set_up),
        cmocka_unit_test_setup(test_poll_gives_up, set_up),
        cmocka_unit_test_setup(test_input, set_up),
        cmocka_unit_test_setup(test_ring_wraps, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
