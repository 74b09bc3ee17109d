/* SPDX-License-Identifier: BSD-2-Clause */
/* A fixture with three partitions ("control", "net", "linux"), their monitors, and the terminal's
 * PL011. */
#ifndef CONSOLE_FIXTURE_H
#define CONSOLE_FIXTURE_H

#include "console/input.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "hypervisor/partition.h"
#include <devices/pl011_registers.h>
#include <stddef.h>

#define PARTITIONS       3u
#define FIXTURE_UART     0x9000000u
#define FIXTURE_UART_SPI 33u

#define FIXTURE_SECOND 1000u /* frequency of the counter */

struct fake {
    char printed[1u << 20]; /* output of the PL011, terminated by 0 */
    size_t printed_bytes;
    uint8_t typed[4096]; /* bytes in its receive FIFO */
    size_t typed_first, typed_bytes;
    uint64_t now;   /* CNTPCT_EL0 */
    bool full;      /* the transmit FIFO is full */
    bool yields;    /* printing sometimes lets other threads run */
    uint64_t looks; /* number of reads of the flags */
    uint32_t control, line_control, mask, cleared;
    unsigned raised[PARTITIONS]; /* number of interrupts raised for each console */
    unsigned routes;
    uint32_t route; /* the core to which the terminal's interrupt is routed */
    enum partition_request request[PARTITIONS]; /* made by the last keys */
};

extern struct fake fake;
extern struct description fixture_system;
extern struct partition fixture_partitions[PARTITIONS];

/* Sets up the state after boot, for cmocka: "net" has no console, "linux" has the input. */
int fixture_set_up(void **state);

/* Boots again, as far as terminal_init(). */
void fixture_boot(void);

/* Types text at the terminal and delivers its interrupt to the core that it is routed to. */
void fixture_type(const char *text);

/* Delivers the interrupt once, and lets all partitions take their keys. */
void fixture_interrupt(void);

/* Delivers the interrupt as long as the PL011 has room and the interrupt for room is enabled. */
void fixture_send_output(void);

/* Sends the output that waits, and returns the output since the last call. */
const char *fixture_printed(void);

/* Accesses of a guest, which must succeed. */
void fixture_write(unsigned partition, uint32_t offset, uint32_t value);
uint32_t fixture_read(unsigned partition, uint32_t offset);
/* Sends text as the guest's program does. */
void fixture_send(unsigned partition, const char *text);

#endif
