/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the accesses to the board's PL011, with its registers as a table. */
#include "console/board_uart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arch/device_access.h>
#include <devices/pl011_registers.h>
#include <string.h>

#define REGISTERS 0x9000000u
#define UNWRITTEN UINT32_MAX

static struct {
    uint32_t flags;
    uint32_t data;
    unsigned data_reads;
    uint32_t written[UARTREGISTERS_END]; /* by offset; UNWRITTEN: no access */
} uart;

uint32_t device_read32(uintptr_t address)
{
    if (address == REGISTERS + UARTDR) {
        uart.data_reads++;
        return uart.data;
    }
    assert_int_equal(address, REGISTERS + UARTFR);
    return uart.flags;
}

void device_write32(uintptr_t address, uint32_t value)
{
    assert_in_range(address, REGISTERS, REGISTERS + UARTREGISTERS_END - 1);
    uart.written[address - REGISTERS] = value;
}

static int set_up(void **state)
{
    (void)state;
    memset(&uart, 0, sizeof(uart));
    for (unsigned offset = 0; offset < UARTREGISTERS_END; offset++) {
        uart.written[offset] = UNWRITTEN;
    }
    return 0;
}

static void test_start(void **state)
{
    (void)state;
    board_uart_init(REGISTERS);
    assert_int_equal(uart.written[UARTIMSC], 0);
    assert_int_equal(uart.written[UARTICR], INTERRUPTS_ALL);
    assert_int_equal(uart.written[UARTLCRH], LINE_8_BITS | LINE_FIFO);
    assert_int_equal(uart.written[UARTCR], CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE);
    /* The firmware has set the baud rate. */
    assert_int_equal(uart.written[UARTIBRD], UNWRITTEN);
    assert_int_equal(uart.written[UARTFBRD], UNWRITTEN);
    assert_int_equal(uart.written[UARTDR], UNWRITTEN);
}

static void test_send(void **state)
{
    (void)state;
    uart.flags = FLAG_RECEIVE_EMPTY | FLAG_BUSY;
    assert_true(board_uart_try_send(REGISTERS, 0xe9));
    assert_int_equal(uart.written[UARTDR], 0xe9);
}

static void test_send_to_a_full_fifo(void **state)
{
    (void)state;
    uart.flags = FLAG_RECEIVE_EMPTY | FLAG_TRANSMIT_FULL;
    assert_false(board_uart_try_send(REGISTERS, 'a'));
    assert_int_equal(uart.written[UARTDR], UNWRITTEN);
}

/* The data register has the errors of a byte above it. */
static void test_receive(void **state)
{
    uint8_t byte = 0;

    (void)state;
    uart.flags = FLAG_TRANSMIT_FULL;
    uart.data = 0xf00 | 'k';
    assert_true(board_uart_try_receive(REGISTERS, &byte));
    assert_int_equal(byte, 'k');
    assert_int_equal(uart.data_reads, 1);
}

static void test_receive_from_an_empty_fifo(void **state)
{
    uint8_t byte = 'b';

    (void)state;
    uart.flags = FLAG_RECEIVE_EMPTY | FLAG_TRANSMIT_EMPTY;
    uart.data = 'k';
    assert_false(board_uart_try_receive(REGISTERS, &byte));
    assert_int_equal(byte, 'b');
    assert_int_equal(uart.data_reads, 0);
}

static void test_interrupts(void **state)
{
    (void)state;
    board_uart_set_interrupts(REGISTERS, true, false);
    assert_int_equal(uart.written[UARTIMSC], INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
    board_uart_set_interrupts(REGISTERS, false, true);
    assert_int_equal(uart.written[UARTIMSC], INTERRUPT_TRANSMIT);
    board_uart_set_interrupts(REGISTERS, true, true);
    assert_int_equal(uart.written[UARTIMSC],
                     INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT | INTERRUPT_TRANSMIT);
    board_uart_set_interrupts(REGISTERS, false, false);
    assert_int_equal(uart.written[UARTIMSC], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_start, set_up),
        cmocka_unit_test_setup(test_send, set_up),
        cmocka_unit_test_setup(test_send_to_a_full_fifo, set_up),
        cmocka_unit_test_setup(test_receive, set_up),
        cmocka_unit_test_setup(test_receive_from_an_empty_fifo, set_up),
        cmocka_unit_test_setup(test_interrupts, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
