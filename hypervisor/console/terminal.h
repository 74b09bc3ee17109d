/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal on the board's PL011, which all partitions and the hypervisor share. It shows lines:
 * `NAME| text` of a partition, `bulkhead| text` of the hypervisor. Several monitors may print at
 * the same time; each line stays whole. The state (lock, output ring, partition whose line is being
 * printed, partition that has the input) is one small object in .bss.monitor_shared. Every monitor
 * maps it and the PL011's page.
 *
 * No monitor waits for the PL011. Bytes that it does not accept at once stay in the output ring.
 * Any monitor that prints sends more of them, and so does the core that gets the PL011's interrupt.
 * The transmit interrupt is enabled as long as the ring is not empty. Each partition may have one
 * line in the ring. Its virtual PL011 (uart.h) reads as full until that line is sent. The
 * hypervisor has a quota of the ring for its messages about each partition, and one for all others,
 * so that a partition that causes many messages crowds out no message about another one. A message
 * that exceeds its quota is dropped, and a line reports the number of dropped ones as soon as there
 * is room. The report of a fault has room of its own.
 *
 * Two exceptions: before the interrupt is routed (terminal_enable_interrupts()), and when the
 * system fails, monitors wait for the PL011. If it accepts nothing, they wait once, and the bytes
 * are lost.
 */
#ifndef HYPERVISOR_TERMINAL_H
#define HYPERVISOR_TERMINAL_H

#include "description/check.h"
#include "hypervisor/partition.h"
#include <stdbool.h>
#include <stdint.h>

/* Initialises the PL011: 8 bits without parity, no interrupts, the firmware's baud rate. `uart`:
 * physical address; 0: the board has no terminal, and nothing is printed. Boot, once, also with the
 * MMU off. */
void terminal_init(uint64_t uart);

/* Makes the terminal take its lock from now on. Boot, before a second monitor can print, with the
 * MMU on. */
void terminal_share(void);

/* Prints a line of the hypervisor that no partition causes. `format`: conversions %s, %u, %lu, %x
 * and %lx, without a newline. Any core. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports an invalid description. `uart`: physical address at which the PL011 may be, or 0. Boot,
 * instead of terminal_init(), also with the MMU off. */
void terminal_report_problem(uint64_t uart, const struct description_problem *problem);
/* Prints "the system can't start", `text` and `number`, and waits until all output is sent. Boot,
 * also with the MMU off. */
void terminal_failed(const char *text, uint64_t number);
/* Waits until all output is sent, because no core may be left to send it after a failure. Any core.
 */
void terminal_send_all(void);
/* Sets the text that explains an exception at an access from now on: terminal_failure() prints it
 * with the address. NULL: an exception would be an error of the hypervisor. Boot. */
void terminal_explain(const char *text);
/* Prints an event of a partition as a line of the hypervisor: its name and the formatted text, for
 * example "is off". `format`: as for terminal_print(). Any core. */
void terminal_print_event(const struct partition *partition, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds the report of a fault of a partition to the output in the same way. It is not dropped if the
 * partition's last one has been sent. The caller calls terminal_send() in another entry, because
 * the report is long. Any core. */
void terminal_add_fault(const struct partition *partition, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sends bytes that were added. Any core. */
void terminal_send(void);
/* Reports an exception of the hypervisor itself, and waits until all output is sent. `syndrome`:
 * ESR_EL2. `address`: FAR_EL2. Any core. */
void terminal_failure(uint64_t syndrome, uint64_t pc, uint64_t address);

/*
 * Prints bytes of a partition's line. `line`: the line up to now, of `bytes` bytes. `shown`: the
 * number of its first bytes that earlier calls printed; they are printed again only if another line
 * was printed since. `end`: the line is complete. Returns false if nothing was left to print.
 * uart.c calls it. Any core.
 */
bool terminal_write_line(const struct partition *partition, const char *line, uint32_t shown,
                         uint32_t bytes, bool end);

/* Returns the number of columns in front of each line of the partition: its name and "| ". Any
 * core. */
uint32_t terminal_margin(const struct partition *partition);

/* Quota of the ring that a partition may use: the one for its lines, or also the one for the output
 * that is left when it stops. */
enum terminal_part { TERMINAL_USUAL, TERMINAL_LAST };

/* Returns true if the ring has room for a line of the partition within its quota. If it returns
 * false for TERMINAL_USUAL, a later terminal_send_output() returns the partition. uart.c calls it
 * before terminal_write_line(). Any core. */
bool terminal_has_room(const struct partition *partition, enum terminal_part part);

/* Sends bytes of the ring, and reports how many messages about one partition were dropped, if the
 * ring has room for it again. Returns false if no report was added. input.c calls it first for the
 * PL011's interrupt. Any core. */
bool terminal_report_dropped(void);
/* Sends bytes of the ring, and updates the transmit interrupt. Returns the partitions that found no
 * room before and have room now: bit i for partition i. input.c calls it for the PL011's interrupt.
 * Any core. */
uint32_t terminal_send_output(void);

/* Typed bytes that input.c handles itself. */
#define BYTE_SWITCH  0x1d /* Ctrl-] */
#define BYTE_COMMAND 0x1e /* Ctrl-^ */

/* Keys for a partition: typed bytes, and these. */
#define KEY_SHOW    0x100u /* no key: the partition's incomplete line has to be printed */
#define KEY_STOP    0x101u
#define KEY_RESTART 0x102u

/* Queues a key for a partition. Returns false, and queues nothing, if the queue is full, or if the
 * key is a command and the queue holds a command. A queue full of bytes has room for a command. Any
 * core. */
bool terminal_queue_key(uint32_t partition, uint32_t key);
/* Removes keys from the partition's queue, oldest first: at most `count`, and none after a command.
 * Sets `bytes` to the typed ones, and *command to the command, or to KEY_SHOW if there is none.
 * Returns the number of bytes. Any core. */
uint32_t terminal_dequeue_keys(uint32_t partition, uint8_t *bytes, uint32_t count,
                               uint32_t *command);
/* Removes typed bytes from the partition's queue, `count` at most, up to a command. Returns their
 * number. Any core. */
uint32_t terminal_dequeue_typed(uint32_t partition, uint8_t *bytes, uint32_t count);
bool terminal_has_key(uint32_t partition);
bool terminal_has_command(uint32_t partition);
/* Returns the number of typed bytes for which the partition's queue has room. */
uint32_t terminal_key_room(uint32_t partition);

/* Returns the index of the partition that has the input, or DESCRIPTION_NO_PARTITION. Any core. */
uint32_t terminal_input_owner(void);
void terminal_give_input(uint32_t partition);
/* Enables the PL011's interrupts, which are routed to a core now: for input, if a partition has the
 * input, and for transmission when it is needed. Boot, after terminal_give_input(). */
void terminal_enable_interrupts(void);
/* Disables the PL011's interrupts for input: bytes stay in its FIFO. If they are disabled already,
 * their pause goes on, and its begin does not change. `now`: CNTPCT_EL0. Any core. */
void terminal_pause_input(uint64_t now);
/* Enables them again, if they are disabled and a partition has the input. Any core. */
void terminal_resume_input(void);
/* Returns the time at which they were disabled; 0: they are enabled. Any core. */
uint64_t terminal_input_paused_since(void);
/* Moves typed bytes from the PL011 to the partition's queue: at most *count, up to BYTE_SWITCH or
 * BYTE_COMMAND. Bytes that find the queue full are lost: sets *lost to their number. Reduces *count
 * by the number of bytes that were read. Returns true if the last one is BYTE_SWITCH or
 * BYTE_COMMAND: it is not queued, and *special is set to it. Any core. */
bool terminal_queue_typed(uint32_t partition, uint32_t *count, uint8_t *special, uint32_t *lost);
/* Reads the next byte that was typed. Returns false if there is none. Any core. */
bool terminal_read_byte(uint8_t *byte);

#endif
