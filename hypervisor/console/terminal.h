/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one terminal, on the board's PL011. Everything on it is a line of somebody: `NAME| text` of a
 * partition, `bulkhead| text` of the hypervisor. Several monitors print at the same time, a line
 * each. What is behind it (its lock, whose line is being printed, who has the input) is one small
 * object in .bss.monitor_shared, and the PL011's page: every monitor maps both.
 *
 * A PL011 that takes nothing more is waited for once, and what it has no room for is lost.
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
/* What happened to a partition: "is off". */
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

/* For input.c and uart.c. Who has the input: an index, or DESCRIPTION_NO_PARTITION; only a monitor
 * of who has it takes it away, and takes what was typed. */
uint32_t terminal_input_owner(void);
void terminal_give_input(uint32_t partition);
/* Has the PL011 interrupt when there is input. */
void terminal_listen(void);
/* The next byte that was typed; false: there is none. */
bool terminal_get(uint8_t *byte);

#endif
