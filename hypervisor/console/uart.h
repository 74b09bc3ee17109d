/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PL011 that a partition sees (Arm DDI 0183). The bytes that it transmits become lines of the
 * terminal. Its transmit FIFO of 16 bytes fills while the terminal has no room for a line of the
 * partition, and the flags and the transmit interrupt say so: no access of a guest waits for the
 * board's PL011. Its receive FIFO is deeper than the real one; when it is full, typed bytes are
 * lost. Baud rate, line and modem control are kept and mean nothing.
 *
 * A partition that has the terminal's input is printed byte by byte, so that a prompt appears and
 * line editing works; any other's line appears when it is complete or full, without control
 * characters.
 */
#ifndef HYPERVISOR_UART_H
#define HYPERVISOR_UART_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* As the firmware would leave it, and what was not yet printed is. Before the partition starts,
 * while all of its cores are in their monitors. */
void uart_reset(struct partition *partition);

/*
 * `offset` is from the first register, below one page. ACCESS_REFUSED: no register of that size.
 * Raises the console's interrupt (gic_raise()) if the guest's access leaves one asserted. Any core
 * of the partition; several at the same time.
 */
enum access_result uart_access(struct partition *partition, struct access *access);

/* Something was typed. Any core of the partition. */
void uart_receive(struct partition *partition, uint8_t byte);

/* Prints what is known of the current line; `end`: and that was all. Any core of the partition. */
void uart_flush(struct partition *partition, bool end);

#endif
