/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal on the board's PL011, which all partitions and the hypervisor share. It shows lines:
 * `NAME| text` of a partition, `bulkhead| text` of the hypervisor. Several monitors print at the
 * same time, a line each. The state (lock, output ring, partition whose line is being printed,
 * partition that has the input) is one small object in .bss.monitor_shared. Every monitor maps it
 * and the PL011's page.
 *
 * No monitor waits for the PL011. What it does not take at once stays in the ring: any monitor that
 * prints sends more of it, and so does the core that has the PL011's interrupt, which is enabled
 * for transmission as long as the ring is not empty. Each partition may have one line in the ring;
 * the virtual PL011 (uart.h) says that it is full until that line is sent. A message of the
 * hypervisor for which its part of the ring has no room is lost; the next one says how many were.
 * Only before the interrupt is routed (terminal_listen()) and when the system fails, the PL011 is
 * waited for; one that takes nothing is waited for once, and what it has no room for is lost.
 */
#ifndef HYPERVISOR_TERMINAL_H
#define HYPERVISOR_TERMINAL_H

#include "description/check.h"
#include "hypervisor/partition.h"
#include <stdbool.h>
#include <stdint.h>

/* Boot, once: 8 bits without parity, no interrupts; the baud rate is the firmware's. 0: there is no
 * terminal, and nothing is printed. Also with the MMU off. */
void terminal_init(uint64_t uart);

/* Boot, before a second monitor can print; with the MMU on. */
void terminal_share(void);

/* One line; `format` knows %s, %u, %lu, %x and %lx, and has no newline. Any core. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Boot: the description is of no use; `uart` is where the terminal may be. Instead of
 * terminal_init(), also with the MMU off. */
void terminal_refuse(uint64_t uart, const struct description_problem *problem);
/* Boot: why it ends. Also with the MMU off. */
void terminal_failed(const char *text, uint64_t number);
/* Boot: why it ends if an access from now on raises an exception, the address follows; NULL: that
 * would be an error of ours. */
void terminal_explain(const char *text);
/* Prints an event of a partition: its name, and `text`, for example "is off". */
void terminal_say(const struct partition *partition, const char *text);
/* An exception of the hypervisor's own. */
void terminal_failure(uint64_t syndrome, uint64_t pc, uint64_t address);

/*
 * For uart.c: `line` is what the partition has printed of its line; the first `shown` bytes of it
 * were given before, and are only printed again if something came between. `end`: the line is
 * complete. Any core.
 */
void terminal_show(const struct partition *partition, const char *line, uint32_t shown,
                   uint32_t bytes, bool end);

/* For uart.c: the columns in front of each line of the partition. */
uint32_t terminal_margin(const struct partition *partition);

/* Which part of the ring a partition may use: the one for its lines, or the one for what it had
 * left when it stopped as well. */
enum terminal_part { TERMINAL_USUAL, TERMINAL_LAST };

/* For uart.c, which calls it before terminal_show(). Returns true if a line of the partition has
 * room in the ring. If false for TERMINAL_USUAL, terminal_continue() tells when there is. Any core.
 */
bool terminal_has_room(const struct partition *partition, enum terminal_part part);

/* For input.c: the PL011's interrupt came, maybe because it has room. Returns the partitions that
 * have room in the ring now and had none before, bit i for partition i. Any core. */
uint32_t terminal_continue(void);

/* Keys for a partition: bytes, and these. */
#define KEY_SHOW    0x100u /* its line can be shown, or shown further */
#define KEY_STOP    0x101u
#define KEY_RESTART 0x102u

/* For input.c: leaves a key for a partition. Returns false if the key is not kept: there is no
 * room, or it is a command and the last one was not taken. A command finds room. Any core. */
bool terminal_pass(uint32_t partition, uint32_t key);
/* For input.c: the oldest key that was left for the partition; false: there is none. */
bool terminal_take(uint32_t partition, uint32_t *key);
bool terminal_has_key(uint32_t partition);

/* For input.c and uart.c. Who has the input: an index, or DESCRIPTION_NO_PARTITION. */
uint32_t terminal_input_owner(void);
void terminal_give_input(uint32_t partition);
/* Boot, after terminal_give_input(): the PL011's interrupt is routed to a core. Enables it for
 * input if a partition has the input. */
void terminal_listen(void);
/* The next byte that was typed; false: there is none. */
bool terminal_get(uint8_t *byte);

#endif
