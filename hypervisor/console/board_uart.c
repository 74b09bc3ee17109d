/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/board_uart.h"

#include <arch/device_access.h>
#include <devices/pl011_registers.h>

void board_uart_init(uintptr_t registers)
{
    device_write32(registers + UARTIMSC, 0);
    device_write32(registers + UARTICR, INTERRUPTS_ALL);
    device_write32(registers + UARTLCRH, LINE_FIFO | LINE_8_BITS);
    device_write32(registers + UARTCR, CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE);
}

bool board_uart_try_send(uintptr_t registers, uint8_t byte)
{
    if ((device_read32(registers + UARTFR) & FLAG_TRANSMIT_FULL) != 0) {
        return false;
    }
    device_write32(registers + UARTDR, byte);
    return true;
}

bool board_uart_try_receive(uintptr_t registers, uint8_t *byte)
{
    if ((device_read32(registers + UARTFR) & FLAG_RECEIVE_EMPTY) != 0) {
        return false;
    }
    *byte = (uint8_t)device_read32(registers + UARTDR);
    return true;
}

void board_uart_set_interrupts(uintptr_t registers, bool receive, bool transmit)
{
    uint32_t mask = 0;

    if (receive) {
        /* The time-out reports bytes that stay below the FIFO's trigger level. */
        mask |= INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT;
    }
    if (transmit) {
        mask |= INTERRUPT_TRANSMIT;
    }
    device_write32(registers + UARTIMSC, mask);
}
