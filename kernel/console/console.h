/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The console: output of print() through a ring buffer to the serial line that the devicetree
 * names. What is printed before the line is found waits in the ring. On a machine without one all
 * is dropped.
 */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include <stddef.h>

/* Finds, maps and starts the serial line. Boot, after devicetree_init(). */
void console_init(void);

/* From now on the line's interrupt drains the ring and takes input. Boot, after interrupt_init().
 */
void console_start(void);

/* Puts text into the ring, and from there into the line as far as it takes it at once. What finds
 * no room is dropped and counted. Any context. */
void console_write(const char *text, size_t bytes);

/* Sends what waits, and from now on everything, by waiting for the line: for panics and the
 * machine's end. A line that does not move is given up. Interrupts masked. */
void console_poll(void);

#endif
