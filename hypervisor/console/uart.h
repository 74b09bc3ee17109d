/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual PL011 of a partition (Arm DDI 0183). The transmitted bytes become lines of the
 * terminal. The transmit FIFO of 16 bytes fills while the terminal has no room for a line of the
 * partition, which the guest sees in the flags and by the transmit interrupt. So no access of a
 * guest waits for the board's PL011. The receive FIFO is deeper than that of a PL011. When it is
 * full, typed bytes stay in the partition's queue (terminal.h), from which it is filled again when
 * the guest has emptied it. The registers for baud rate, line and modem control keep their values
 * without effect.
 *
 * The output of the partition that has the input is printed byte by byte, so that a prompt appears
 * and line editing works. A line of another partition is printed when it is complete or full. Both
 * pass the filter (filter.h).
 */
#ifndef HYPERVISOR_UART_H
#define HYPERVISOR_UART_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Prints the rest of the current line, and sets the registers as firmware leaves them. Discards the
 * input unless it is held. Called before the partition starts, while all of its cores are in their
 * monitors. */
void uart_reset(struct partition *partition);

/* Discards the input that the guest has not read. Later input is held back from the guest until
 * uart_release_input(), which is called before the next guest starts. Any core of the partition. */
void uart_hold_input(struct partition *partition);
void uart_release_input(struct partition *partition);

/*
 * Handles a guest's access. access->offset: from the first register, below one page. Returns
 * ACCESS_REFUSED if no register has this offset and size, otherwise ACCESS_DONE. Makes the
 * console's SPI pending (gic_make_pending()) if an interrupt is asserted after the access. Any core
 * of the partition, several at the same time.
 */
enum access_result uart_access(struct partition *partition, struct access *access);

/* Returns the number of bytes for which the receive FIFO has room. Any core of the partition. */
uint32_t uart_input_room(const struct partition *partition);

/* Moves typed bytes from the partition's queue to the receive FIFO: 16 at most, as far as there is
 * room, and none after a command. Any core of the partition. */
void uart_receive(struct partition *partition);

/* Removes keys from the partition's queue, 16 at most, up to a command. Returns the command, or
 * KEY_SHOW if there is none. Adds the bytes before it to the receive FIFO. Those that find it full
 * are lost. Any core of the partition. */
uint32_t uart_receive_to_command(struct partition *partition);

/* Transmits the FIFO, and prints the part of the current line that is not printed yet, as far as
 * the terminal has room. `end`: the line is complete. Returns true if it printed the current line.
 * Any core of the partition. */
bool uart_flush(struct partition *partition, bool end);

#endif
