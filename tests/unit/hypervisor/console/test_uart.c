/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the PL011 that a partition sees: its registers, its lines on the terminal, its interrupt.
 */
#include "console_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CONTROL 0
#define LINUX   2

static void receive(unsigned partition, uint8_t byte)
{
    assert_true(terminal_queue_key(partition, byte));
    uart_receive(&fixture_partitions[partition]);
}

/* Linux' amba bus finds the driver by these values. */
static void test_identification(void **state)
{
    static const uint8_t expected[] = {0x11, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1};

    (void)state;
    for (unsigned i = 0; i < sizeof(expected); i++) {
        assert_int_equal(fixture_read(LINUX, UARTPERIPHID0 + 4 * i), expected[i]);
    }
}

static void test_registers_after_reset(void **state)
{
    (void)state;
    assert_int_equal(fixture_read(LINUX, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    assert_int_equal(fixture_read(LINUX, UARTCR), 0x301);
    assert_int_equal(fixture_read(LINUX, UARTIFLS), 0x12);
    assert_int_equal(fixture_read(LINUX, UARTIMSC), 0);
    assert_int_equal(fixture_read(LINUX, UARTRIS), 0);
    assert_int_equal(fixture_read(LINUX, UARTMIS), 0);
    assert_int_equal(fixture_read(LINUX, UARTDR), 0);
    assert_int_equal(fixture_read(LINUX, 4), 0); /* UARTRSR */
}

static void test_registers_keep_written_values(void **state)
{
    static const struct {
        uint32_t offset, bits;
    } registers[] = {
        {4, 0}, /* UARTECR */
        {UARTFR, 0},      {UARTILPR, 0xff}, {UARTIBRD, 0xffff}, {UARTFBRD, 0x3f}, {UARTLCRH, 0xff},
        {UARTCR, 0xff87}, {UARTIFLS, 0x3f}, {UARTIMSC, 0x7ff},  {UARTDMACR, 0x7},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        uint32_t before = fixture_read(LINUX, registers[i].offset);

        fixture_write(LINUX, registers[i].offset, UINT32_MAX);
        if (registers[i].offset == UARTFR) {
            assert_int_equal(fixture_read(LINUX, UARTFR), before);
        } else {
            assert_int_equal(fixture_read(LINUX, registers[i].offset), registers[i].bits);
        }
        fixture_write(LINUX, registers[i].offset, 0);
    }
    assert_int_equal(fake.raised[LINUX], 0);
    assert_int_equal(fake.printed_bytes, 0);
    fixture_write(LINUX, UARTIBRD, 13);
    uart_reset(&fixture_partitions[LINUX]);
    test_registers_after_reset(state);
    assert_int_equal(fixture_read(LINUX, UARTIBRD), 0);
}

static void test_accesses_of_all_sizes(void **state)
{
    struct partition *partition = &fixture_partitions[CONTROL];

    (void)state;
    for (uint8_t bytes = 1; bytes <= 4; bytes = (uint8_t)(bytes * 2)) {
        struct access access = {
            .offset = UARTDR, .value = '0' + bytes, .bytes = bytes, .write = true};

        assert_int_equal(uart_access(partition, &access), ACCESS_DONE);
        access.value = 0x1234;
        access.offset = UARTIBRD;
        assert_int_equal(uart_access(partition, &access), ACCESS_DONE);
        access.write = false;
        assert_int_equal(uart_access(partition, &access), ACCESS_DONE);
        assert_int_equal(access.value, bytes == 1 ? 0x34 : 0x1234);
    }
    fixture_send(CONTROL, "\n");
    assert_string_equal(fixture_printed(), "control| 124\r\n");
}

static void test_offsets_without_a_register(void **state)
{
    struct partition *partition = &fixture_partitions[CONTROL];
    static const struct access accesses[] = {
        {.offset = 0x4c, .bytes = 4},
        {.offset = 0xfdc, .bytes = 4},
        {.offset = UARTDR + 1, .bytes = 1},
        {.offset = UARTIBRD + 2, .bytes = 2},
        {.offset = UARTIBRD, .bytes = 8},
        {.offset = 0x80, .bytes = 4},
        {.offset = UARTPERIPHID0 - 4, .bytes = 4},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
        struct access access = accesses[i];

        access.value = 0x7777;
        assert_int_equal(uart_access(partition, &access), ACCESS_REFUSED);
        assert_int_equal(access.value, 0);
        access.write = true;
        access.value = 0x7777;
        assert_int_equal(uart_access(partition, &access), ACCESS_REFUSED);
    }
    struct access identification = {.offset = UARTPERIPHID0, .value = 1, .bytes = 4, .write = true};

    assert_int_equal(uart_access(partition, &identification), ACCESS_REFUSED);
    assert_int_equal(fixture_read(CONTROL, UARTPERIPHID0), 0x11);
    assert_int_equal(fixture_read(CONTROL, UARTIBRD), 0);
    fixture_send(CONTROL, "\n");
    assert_string_equal(fixture_printed(), "control| \r\n");
}

static void test_lines(void **state)
{
    char text[2 * CONSOLE_LINE_BYTES + 2];

    (void)state;
    fixture_send(CONTROL, "tick 1\r\ntick");
    assert_string_equal(fixture_printed(), "control| tick 1\r\n");
    fixture_send(CONTROL, " 2\n\n");
    assert_string_equal(fixture_printed(), "control| tick 2\r\ncontrol| \r\n");
    /* No control character that moves the cursor to other lines is printed. A byte outside of ASCII
     * is printed as "?". */
    fixture_send(CONTROL, "\x1b[2Ja\rb\bc\x7f\td\xc3\xa4\n");
    assert_string_equal(fixture_printed(), "control| abc     d?\r\n");

    memset(text, 'x', sizeof(text));
    text[CONSOLE_LINE_BYTES] = 'y';
    text[CONSOLE_LINE_BYTES + 1] = '\n';
    text[CONSOLE_LINE_BYTES + 2] = '\0';
    fixture_send(CONTROL, text);
    text[CONSOLE_LINE_BYTES] = '\0';
    fixture_send_output();
    assert_memory_equal(fake.printed + fake.printed_bytes - 12, "control| y\r\n", 12);
    assert_non_null(strstr(fixture_printed(), text));
    assert_non_null(strstr(fake.printed, "x\r\ncontrol| y\r\n"));
}

/* With the name this line fills the partition's part of the ring, so that no other line fits. */
#define LONG_LINE "0123456789012345678901234567890123456789012345678901234567890123456789"

static void test_full_terminal_does_not_block(void **state)
{
    (void)state;
    fake.full = true;
    fake.looks = 0;
    fixture_send(CONTROL, LONG_LINE "\n");
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    fixture_send(CONTROL, "\n");
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_BUSY | FLAG_RECEIVE_EMPTY);
    fixture_send(CONTROL, "and of others15");
    assert_int_equal(fixture_read(CONTROL, UARTFR),
                     FLAG_BUSY | FLAG_TRANSMIT_FULL | FLAG_RECEIVE_EMPTY);
    fixture_write(CONTROL, UARTDR, '!'); /* lost */
    assert_true(fake.looks < 500);       /* each access reads the flags a few times */
    assert_string_equal(fixture_printed(), "");

    /* Another partition is not affected. */
    fixture_send(LINUX, "mine\n");
    assert_int_equal(fixture_read(LINUX, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);

    fake.full = false;
    assert_true((fake.mask & INTERRUPT_TRANSMIT) != 0);
    assert_int_equal(fake.raised[CONTROL], 0);
    fixture_send_output();
    assert_int_equal(fake.raised[CONTROL], 1);
    assert_int_equal(fake.mask & INTERRUPT_TRANSMIT, 0);
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    fixture_send(CONTROL, "\n");
    assert_string_equal(fixture_printed(), "control| " LONG_LINE "\r\nlinux| mine\r\n"
                                           "control| \r\ncontrol| and of others15\r\n");
    fixture_interrupt();
    assert_int_equal(fake.raised[CONTROL], 1);
}

/* The transmit interrupt means that the FIFO is at most half full (DDI 0183, UARTIFLS). */
static void test_transmit_interrupt_of_a_full_terminal(void **state)
{
    (void)state;
    fixture_write(CONTROL, UARTIMSC, INTERRUPT_TRANSMIT);
    fake.full = true;
    fixture_send(CONTROL, LONG_LINE "\n\n1234567");
    assert_int_equal(fixture_read(CONTROL, UARTMIS), INTERRUPT_TRANSMIT);
    fixture_send(CONTROL, "8");
    assert_int_equal(fixture_read(CONTROL, UARTMIS), 0);
    fake.raised[CONTROL] = 0;
    fake.full = false;
    fixture_send_output();
    assert_int_equal(fake.raised[CONTROL], 1);
    assert_int_equal(fixture_read(CONTROL, UARTMIS), INTERRUPT_TRANSMIT);
    fixture_write(CONTROL, UARTICR, INTERRUPT_TRANSMIT);
    assert_int_equal(fixture_read(CONTROL, UARTMIS), 0);
}

static void test_reset_keeps_text_for_a_full_terminal(void **state)
{
    (void)state;
    fake.full = true;
    fixture_send(CONTROL, LONG_LINE "\n\nlast");
    uart_reset(&fixture_partitions[CONTROL]);
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    fake.full = false;
    assert_string_equal(fixture_printed(),
                        "control| " LONG_LINE "\r\ncontrol| \r\ncontrol| last\r\n");
}

static void test_prompt_appears_at_once(void **state)
{
    (void)state;
    fixture_send(LINUX, "\n~ # ");
    assert_string_equal(fixture_printed(), "linux| \r\nlinux| ~ # ");
    fixture_send(CONTROL, "tick");
    assert_string_equal(fixture_printed(), "");
    fixture_send(LINUX, "l");
    assert_string_equal(fixture_printed(), "l");
    fixture_send(CONTROL, "\n");
    assert_string_equal(fixture_printed(), "\r\ncontrol| tick\r\n");
    fixture_send(LINUX, "s");
    assert_string_equal(fixture_printed(), "linux| ~ # ls");
    fixture_send(LINUX, "\r\n");
    assert_string_equal(fixture_printed(), "\r\n");
    /* Line editing uses absolute columns, which count from 1; the name takes 7. The carriage return
     * is printed together with the text that follows it. */
    fixture_send(LINUX, "ab\b\x1b[J\r");
    assert_string_equal(fixture_printed(), "linux| ab\x1b[9G\x1b[0J");
    fixture_send(LINUX, "c");
    assert_string_equal(fixture_printed(), "\x1b[8Gc");
}

struct sample {
    const char *sent, *printed;
};

static void require_samples(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture_send(LINUX, samples[i].sent);
        fixture_send(LINUX, "\n");
        assert_string_equal(fixture_printed(), samples[i].printed);
    }
}

/* Sequences that line editors use never reach the columns left of the guest's text. */
static void test_line_editing(void **state)
{
    static const struct sample samples[] = {
        {"\b\b\bx", "linux| \x1b[8G\x1b[8G\x1b[8Gx\r\n"},
        {"abc\x1b[2Dx", "linux| abc\x1b[9Gx\r\n"},
        {"abc\x1b[999999999Dx", "linux| abc\x1b[8Gx\r\n"},
        {"abc\x1b[Dx", "linux| abc\x1b[10Gx\r\n"},
        {"ab\r\x1b[Cx", "linux| ab\x1b[9Gx\r\n"},
        {"a\x1b[20Cx", "linux| a\x1b[29Gx\r\n"},
        {"a\x1b[99999999Cx\b", "linux| a\x1b[10007Gx\x1b[10006G\r\n"},
        {"abc\r\x1b[P\x1b[2@\x1b[3X\x1b[K", "linux| abc\x1b[8G\x1b[0P\x1b[2@\x1b[3X\x1b[0K\r\n"},
        {"a\tb\tc", "linux| a       b       c\r\n"},
        {"a\a", "linux| a\a\r\n"},
        {"50 %\r100 %\r", "linux| 50 %\x1b[8G100 %\r\n"},
    };

    (void)state;
    require_samples(samples, sizeof(samples) / sizeof(samples[0]));
}

/* Sequences for other lines, other modes, terminal reports, 8-bit controls and strings are not
 * printed. */
static void test_other_sequences_are_removed(void **state)
{
    static const struct sample samples[] = {
        {"\x1b[Aa\x1b[2Ab\x1b[Bc", "linux| abc\r\n"},
        {"\x1b[Ha\x1b[1;1Hb\x1b[5;3fc\x1b[3Gd\x1b[2de", "linux| abcde\r\n"},
        {"\x1b[2Ja\x1b[1Jb\x1b[3Jc\x1b[2Kd\x1b[1Ke", "linux| abcde\r\n"},
        {"\x1b"
         "7a\x1b"
         "8b\x1b[sc\x1b[ud\x1bMe\x1b"
         "Df\x1b"
         "Eg\x1b"
         "ch",
         "linux| abcdefgh\r\n"},
        {"\x1b[31ma\x1b[8mb\x1b[0mc\x1b[mde", "linux| abcde\r\n"},
        {"\x1b[6na\x1b[5nb\x1b[cc\x1b[>cd\x05"
         "e",
         "linux| abcde\r\n"},
        {"\x1b[?25la\x1b[?1049hb\x1b[4hc\x1b[1;5rd\x1b[!pe", "linux| abcde\r\n"},
        {"\x1b]0;title\a"
         "a\x1b]0;title\x1b\\b\x1bPq\x1b\\c\x1b_x\x18"
         "d\x1b^x\x1a"
         "e",
         "linux| abcde\r\n"},
        {"\x1b(0a\x0e"
         "b\x0f"
         "c\x1b%Gd\x1b#8e",
         "linux| abcde\r\n"},
        {"a\x9b"
         "2Jb\x84"
         "c\x85"
         "d\xc2\x9b"
         "1me",
         "linux| a2Jbcd?1me\r\n"},
        {"a\vb\fc\x7f"
         "d\x1b[0 qe",
         "linux| abcde\r\n"},
        {"a\x1b[\x1b[Db\x1b[2\bc", "linux| a\x1b[8Gb\x1b[8Gc\r\n"},
        {"\x1b]0;never ends", "linux| \r\n"},
        {"a\x1b[", "linux| a\r\n"},
        {"2Jb", "linux| 2Jb\r\n"}, /* a line's end ends a sequence */
        {"\x1b[1;2Da\x1b[:2Db\x1b[ Dc\x1b[2$De", "linux| abce\r\n"},
    };

    (void)state;
    require_samples(samples, sizeof(samples) / sizeof(samples[0]));
}

static void test_long_line_is_edited(void **state)
{
    unsigned lines = 0;

    (void)state;
    for (unsigned i = 0; i < 3 * CONSOLE_LINE_BYTES; i++) {
        fixture_send(LINUX, "x");
    }
    fixture_send(LINUX, "\n");
    assert_int_equal(fake.printed_bytes, strlen("linux| \r\n") + (size_t)3 * CONSOLE_LINE_BYTES);
    for (size_t i = 0; i < fake.printed_bytes; i++) {
        lines += fake.printed[i] == '\n';
    }
    assert_int_equal(lines, 1);
}

static void test_reset_ends_the_line(void **state)
{
    (void)state;
    fixture_send(CONTROL, "last words");
    receive(CONTROL, 'x');
    uart_reset(&fixture_partitions[CONTROL]);
    assert_string_equal(fixture_printed(), "control| last words\r\n");
    assert_int_equal(fixture_read(CONTROL, UARTRIS), 0);
    test_registers_after_reset(state);
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    uart_reset(&fixture_partitions[CONTROL]);
    fixture_send(CONTROL, "again\n");
    assert_string_equal(fixture_printed(), "control| again\r\n");
}

/* The hypervisor is about to print a message about the partition. */
static void test_flush(void **state)
{
    (void)state;
    fixture_send(CONTROL, "about to");
    (void)uart_flush(&fixture_partitions[CONTROL], true);
    assert_string_equal(fixture_printed(), "control| about to\r\n");
    (void)uart_flush(&fixture_partitions[CONTROL], true);
    uart_reset(&fixture_partitions[CONTROL]);
    assert_string_equal(fixture_printed(), "");
    fixture_send(LINUX, "login: ");
    assert_string_equal(fixture_printed(), "linux| login: ");
    assert_false(uart_flush(&fixture_partitions[LINUX], false));
    assert_string_equal(fixture_printed(), "");
    (void)uart_flush(&fixture_partitions[LINUX], true);
    assert_string_equal(fixture_printed(), "\r\n");
}

static void test_input_by_interrupt(void **state)
{
    (void)state;
    receive(CONTROL, 'a');
    assert_int_equal(fake.raised[CONTROL], 0);
    assert_int_equal(fixture_read(CONTROL, UARTRIS), INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
    assert_int_equal(fixture_read(CONTROL, UARTMIS), 0);
    fixture_write(CONTROL, UARTIMSC, INTERRUPT_RECEIVE_TIMEOUT);
    assert_int_equal(fake.raised[CONTROL], 1); /* for the input that is already there */
    assert_int_equal(fixture_read(CONTROL, UARTMIS), INTERRUPT_RECEIVE_TIMEOUT);
    receive(CONTROL, 'b');
    assert_int_equal(fake.raised[CONTROL], 2);
    fixture_write(CONTROL, UARTICR, INTERRUPTS_ALL);
    assert_int_equal(fake.raised[CONTROL], 3); /* there is more input */
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 'a');
    assert_int_equal(fake.raised[CONTROL], 4);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 'b');
    assert_int_equal(fake.raised[CONTROL], 4);
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
    assert_int_equal(fixture_read(CONTROL, UARTMIS), 0);
    assert_int_equal(fake.raised[LINUX], 0);
}

/* Reading the flags raises no interrupt: a handler that reads flags and then data gets one
 * interrupt. */
static void test_one_interrupt_per_byte(void **state)
{
    (void)state;
    fixture_write(LINUX, UARTIMSC, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
    receive(LINUX, 'a');
    (void)fixture_read(LINUX, UARTRIS);
    (void)fixture_read(LINUX, UARTMIS);
    (void)fixture_read(LINUX, UARTFR);
    assert_int_equal(fixture_read(LINUX, UARTDR), 'a');
    (void)fixture_read(LINUX, UARTFR);
    (void)fixture_read(LINUX, UARTRIS);
    assert_int_equal(fake.raised[LINUX], 1);
}

static void test_unread_input(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CONSOLE_INPUT_BYTES + 10; i++) {
        receive(CONTROL, (uint8_t)i);
    }
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_FULL);
    for (unsigned i = 0; i < CONSOLE_INPUT_BYTES + 10; i++) {
        assert_int_equal(fixture_read(CONTROL, UARTDR), (uint8_t)i);
    }
    receive(CONTROL, 0xff);
    receive(CONTROL, 2);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 0xff);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 2);
    assert_int_equal(fixture_read(CONTROL, UARTFR), FLAG_TRANSMIT_EMPTY | FLAG_RECEIVE_EMPTY);
}

/* The transmit interrupt does not occur if it is enabled before anything was sent. Later it occurs
 * each time the FIFO becomes empty, which is after each byte (DDI 0183, UARTTXINTR). */
static void test_transmit_interrupt(void **state)
{
    (void)state;
    fixture_write(CONTROL, UARTIMSC, INTERRUPT_TRANSMIT);
    assert_int_equal(fake.raised[CONTROL], 0);
    fixture_send(CONTROL, "a");
    assert_int_equal(fake.raised[CONTROL], 1);
    assert_int_equal(fixture_read(CONTROL, UARTMIS), INTERRUPT_TRANSMIT);
    fixture_write(CONTROL, UARTICR, INTERRUPT_RECEIVE);
    assert_int_equal(fake.raised[CONTROL], 2);
    fixture_write(CONTROL, UARTICR, INTERRUPT_TRANSMIT);
    assert_int_equal(fixture_read(CONTROL, UARTRIS), 0);
    assert_int_equal(fake.raised[CONTROL], 2);
    fixture_write(CONTROL, UARTIMSC, 0);
    fixture_send(CONTROL, "b");
    assert_int_equal(fake.raised[CONTROL], 2);
    fixture_write(CONTROL, UARTIMSC, INTERRUPT_TRANSMIT);
    assert_int_equal(fake.raised[CONTROL], 3);
}

#define THREADS 2u
#define BYTES   5000u

static pthread_barrier_t start;

static void *send_bytes(void *argument)
{
    const unsigned *partition = argument;

    (void)pthread_barrier_wait(&start);
    for (unsigned i = 0; i < BYTES; i++) {
        fixture_write(*partition, UARTDR, 'x');
    }
    return NULL;
}

static void test_several_cores_of_a_partition(void **state)
{
    unsigned partition = CONTROL;
    pthread_t threads[THREADS];
    unsigned letters = 0;

    (void)state;
    fake.yields = true;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, send_bytes, &partition), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    (void)pthread_barrier_destroy(&start);
    fixture_send(CONTROL, "\n");
    for (size_t i = 0; i < fake.printed_bytes; i++) {
        letters += fake.printed[i] == 'x';
    }
    assert_int_equal(letters, THREADS * BYTES);
}

static void test_held_input(void **state)
{
    (void)state;
    receive(CONTROL, 'a');
    uart_hold_input(&fixture_partitions[CONTROL]);
    receive(CONTROL, 'b');
    assert_true((fixture_read(CONTROL, UARTFR) & FLAG_RECEIVE_EMPTY) != 0);
    assert_int_equal(fixture_read(CONTROL, UARTRIS) & INTERRUPT_RECEIVE, 0);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 0);
    uart_reset(&fixture_partitions[CONTROL]);
    assert_true((fixture_read(CONTROL, UARTFR) & FLAG_RECEIVE_EMPTY) != 0);
    uart_release_input(&fixture_partitions[CONTROL]);
    assert_int_equal(fixture_read(CONTROL, UARTDR), 'b');
    receive(CONTROL, 'c');
    uart_reset(&fixture_partitions[CONTROL]); /* not held */
    assert_true((fixture_read(CONTROL, UARTFR) & FLAG_RECEIVE_EMPTY) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_identification, fixture_set_up),
        cmocka_unit_test_setup(test_registers_after_reset, fixture_set_up),
        cmocka_unit_test_setup(test_registers_keep_written_values, fixture_set_up),
        cmocka_unit_test_setup(test_accesses_of_all_sizes, fixture_set_up),
        cmocka_unit_test_setup(test_offsets_without_a_register, fixture_set_up),
        cmocka_unit_test_setup(test_lines, fixture_set_up),
        cmocka_unit_test_setup(test_full_terminal_does_not_block, fixture_set_up),
        cmocka_unit_test_setup(test_transmit_interrupt_of_a_full_terminal, fixture_set_up),
        cmocka_unit_test_setup(test_reset_keeps_text_for_a_full_terminal, fixture_set_up),
        cmocka_unit_test_setup(test_prompt_appears_at_once, fixture_set_up),
        cmocka_unit_test_setup(test_line_editing, fixture_set_up),
        cmocka_unit_test_setup(test_other_sequences_are_removed, fixture_set_up),
        cmocka_unit_test_setup(test_long_line_is_edited, fixture_set_up),
        cmocka_unit_test_setup(test_reset_ends_the_line, fixture_set_up),
        cmocka_unit_test_setup(test_flush, fixture_set_up),
        cmocka_unit_test_setup(test_input_by_interrupt, fixture_set_up),
        cmocka_unit_test_setup(test_held_input, fixture_set_up),
        cmocka_unit_test_setup(test_one_interrupt_per_byte, fixture_set_up),
        cmocka_unit_test_setup(test_unread_input, fixture_set_up),
        cmocka_unit_test_setup(test_transmit_interrupt, fixture_set_up),
        cmocka_unit_test_setup(test_several_cores_of_a_partition, fixture_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
