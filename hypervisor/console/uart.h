/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PL011 that a partition sees (Arm DDI 0183). The bytes that it transmits become lines of the
 * terminal. Its transmit FIFO of 16 bytes fills while the terminal has no room for a line of the
 * partition, and the flags and the transmit interrupt say so: no access of a guest waits for the
 * board's PL011. Its receive FIFO is deeper than the real one; when it is full, typed bytes are
 * lost. Baud rate, line and modem control are kept and mean nothing.
 *
 * The output of the partition that has the keyboard is printed byte by byte, so that a prompt
 * appears and line editing works. A line of another partition is printed when it is complete or
 * full. Both pass a filter (filter.h).
 */
#ifndef HYPERVISOR_UART_H
#define HYPERVISOR_UART_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Prints the rest of the current line and sets the registers as firmware leaves them. Discards the
 * input, unless it is held. Before the
 * partition starts, while all of its cores are in their monitors. */
void uart_reset(struct partition *partition);

/* Discards the input that the guest has not read, and keeps all that follows, until
 * uart_release_input(), which is called before a guest starts. */
void uart_hold_input(struct partition *partition);
void uart_release_input(struct partition *partition);

/*
 * `offset` is from the first register, below one page. ACCESS_REFUSED: no register of that size.
 * Raises the console's interrupt (gic_make_pending()) if the guest's access leaves one asserted.
 * Any core of the partition; several at the same time.
 */
enum access_result uart_access(struct partition *partition, struct access *access);

/* Adds a byte to the receive FIFO. Any core of the partition. */
void uart_receive(struct partition *partition, uint8_t byte);

/* Prints the part of the current line that is not printed yet. `end`: the line is complete. Any
 * core of the partition. */
void uart_flush(struct partition *partition, bool end);

#endif
