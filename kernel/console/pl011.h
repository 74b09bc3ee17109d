/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Arm PrimeCell UART (PL011) (Arm DDI 0183). The caller serialises.
 */
#ifndef PL011_H
#define PL011_H

#include <stdbool.h>
#include <stdint.h>

struct pl011 {
    uintptr_t registers; /* 0: there is none, and no call below may be made */
};

/* Turns it on, 8 bits without parity; the baud rate is the firmware's. Interrupts are off. */
void pl011_init(struct pl011 *uart, uintptr_t registers);

/* False if its FIFO is full. */
bool pl011_put(const struct pl011 *uart, uint8_t byte);
/* Whether all is out on the wire. */
bool pl011_is_idle(const struct pl011 *uart);
/* False if there is no input. */
bool pl011_get(const struct pl011 *uart, uint8_t *byte);

/* Whether an interrupt is wanted when the FIFO has room again. */
void pl011_want_room(const struct pl011 *uart, bool wanted);
/* Whether an interrupt is wanted when there is input. */
void pl011_want_input(const struct pl011 *uart, bool wanted);
void pl011_acknowledge(const struct pl011 *uart);

#endif
