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

bool pl011_put(const struct pl011 *uart, uint8_t byte)
{
    if ((device_read32(uart->registers + UARTFR) & FLAG_TRANSMIT_FULL) != 0) {
        return false;
    }
    device_write32(uart->registers + UARTDR, byte);
    return true;
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

static void want(const struct pl011 *uart, uint32_t interrupts, bool wanted)
{
    uint32_t mask = device_read32(uart->registers + UARTIMSC);

    device_write32(uart->registers + UARTIMSC, wanted ? mask | interrupts : mask & ~interrupts);
}

void pl011_want_room(const struct pl011 *uart, bool wanted)
{
    want(uart, INTERRUPT_TRANSMIT, wanted);
}

void pl011_want_input(const struct pl011 *uart, bool wanted)
{
    /* The time-out is for bytes that stay below the FIFO's trigger level. */
    want(uart, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT, wanted);
}

void pl011_acknowledge(const struct pl011 *uart)
{
    device_write32(uart->registers + UARTICR,
                   INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT | INTERRUPT_TRANSMIT);
}
