/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Arm PrimeCell UART (PL011) (Arm DDI 0183). The caller serialises.
 */
#ifndef PL011_H
#define PL011_H

#include <stdbool.h>
#include <stdint.h>

/* Size of the transmit FIFO. From revision r1p5 on it is 32. */
#define PL011_FIFO_BYTES 16u

struct pl011 {
    uintptr_t registers; /* 0: there is no UART, and no function below may be called */
};

/* Enables the UART with its FIFOs, 8 bits without parity, and disables its interrupts. The firmware
 * has set the baud rate. */
void pl011_init(struct pl011 *uart, uintptr_t registers);

/* Returns the number of bytes that pl011_send() may send before the next call: PL011_FIFO_BYTES if
 * the transmit FIFO is empty (UARTFR.TXFE), 0 if it is full (UARTFR.TXFF), otherwise 1. */
unsigned pl011_room(const struct pl011 *uart);
/* Puts a byte into the transmit FIFO, which has room for it. */
void pl011_send(const struct pl011 *uart, uint8_t byte);
/* Returns true if all bytes have been sent. */
bool pl011_is_idle(const struct pl011 *uart);
/* Reads the oldest byte of the receive FIFO. Returns false if there is none. */
bool pl011_get(const struct pl011 *uart, uint8_t *byte);

/* Enables the receive interrupt and the receive time-out interrupt. */
void pl011_enable_input(const struct pl011 *uart);
/* Clears the receive interrupts. */
void pl011_acknowledge(const struct pl011 *uart);

#endif
