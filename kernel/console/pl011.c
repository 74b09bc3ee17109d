/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/pl011.h"

#include <arch/device_access.h>
#include <devices/pl011_registers.h>

void pl011_init(struct pl011 *uart, uintptr_t registers)
{
    uart->registers = registers;
    device_write32(registers + UARTIMSC, 0);
    device_write32(registers + UARTICR, INTERRUPTS_ALL);
    device_write32(registers + UARTLCRH, LINE_FIFO | LINE_8_BITS);
    device_write32(registers + UARTCR, CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE);
}

unsigned pl011_room(const struct pl011 *uart)
{
    uint32_t flags = device_read32(uart->registers + UARTFR);

    if ((flags & FLAG_TRANSMIT_EMPTY) != 0) {
        return PL011_FIFO_BYTES;
    }
    return (flags & FLAG_TRANSMIT_FULL) != 0 ? 0 : 1;
}

void pl011_send(const struct pl011 *uart, uint8_t byte)
{
    device_write32(uart->registers + UARTDR, byte);
}

bool pl011_is_idle(const struct pl011 *uart)
{
    return (device_read32(uart->registers + UARTFR) & FLAG_BUSY) == 0;
}

bool pl011_get(const struct pl011 *uart, uint8_t *byte)
{
    if ((device_read32(uart->registers + UARTFR) & FLAG_RECEIVE_EMPTY) != 0) {
        return false;
    }
    *byte = (uint8_t)device_read32(uart->registers + UARTDR);
    return true;
}

void pl011_enable_input(const struct pl011 *uart)
{
    /* The time-out interrupt reports bytes whose number stays below the FIFO's trigger level. */
    device_write32(uart->registers + UARTIMSC, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
}

void pl011_acknowledge(const struct pl011 *uart)
{
    device_write32(uart->registers + UARTICR, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
}
