/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The console: print() writes to a ring buffer, and a thread sends what is in the ring to the
 * serial line that the devicetree names. Text printed before the line is found waits in the ring.
 * On a machine without a serial line all text is dropped.
 */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include <stddef.h>

/* Finds, maps and starts the serial line. Boot, after devicetree_init(). */
void console_init(void);

/* Attaches the handler for input. Boot, after interrupt_init(). */
void console_start(void);

/* Starts the thread that sends the text. Until then console_write() itself sends as many bytes as
 * the line accepts at once. Thread context. */
void console_start_thread(void);

/* Copies text to the ring and wakes the thread. Text that does not fit is dropped and counted.
 * Interrupts are masked for the copy. Any context. */
void console_write(const char *text, size_t bytes);

/* Sends the text in the ring, and from now on all text that is written, by polling the line until
 * it has accepted all bytes: for panics and the end of the machine. Gives up if the line accepts no
 * byte for more than a second. Interrupts masked. */
void console_poll(void);

#endif
