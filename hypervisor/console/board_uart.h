/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board's PL011 (Arm DDI 0183), which the terminal drives. No function waits. `registers`:
 * address of the PL011's first register. The caller holds the terminal's lock; before
 * terminal_share(), only one core calls these functions.
 */
#ifndef CONSOLE_BOARD_UART_H
#define CONSOLE_BOARD_UART_H

#include <stdbool.h>
#include <stdint.h>

/* Selects 8 data bits without parity, enables the FIFOs and disables all interrupts. The baud rate
 * stays as the firmware has set it. */
void board_uart_init(uintptr_t registers);

/* Sends a byte. Returns false, and sends nothing, if the transmit FIFO is full. */
bool board_uart_try_send(uintptr_t registers, uint8_t byte);

/* Reads the next byte of the receive FIFO. Returns false if the FIFO is empty. */
bool board_uart_try_receive(uintptr_t registers, uint8_t *byte);

/* Enables or disables the interrupts for received bytes, and the interrupt for room in the transmit
 * FIFO. */
void board_uart_set_interrupts(uintptr_t registers, bool receive, bool transmit);

#endif
