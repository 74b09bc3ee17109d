/* SPDX-License-Identifier: BSD-2-Clause */
/* Three partitions ("control", "net", "linux") with monitors, and the terminal's PL011. */
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

struct fake {
    char printed[1u << 20]; /* what left the PL011, terminated */
    size_t printed_bytes;
    uint8_t typed[4096]; /* what waits in its receive FIFO */
    size_t typed_first, typed_bytes;
    bool full;      /* the transmit FIFO has no room */
    bool yields;    /* printing gives other threads a chance now and then */
    uint64_t looks; /* at the flags */
    uint32_t control, line_control, mask, cleared;
    unsigned raised[PARTITIONS]; /* how often a console's interrupt was */
    unsigned routes;
    uint32_t route; /* the core that the terminal's interrupt goes to */
};

extern struct fake fake;
extern struct description fixture_system;
extern struct partition fixture_partitions[PARTITIONS];

/* As after boot: "net" has no console, "linux" has the input. For cmocka. */
int fixture_set_up(void **state);

/* Typed at the terminal, and its interrupt taken by where it is routed. */
void fixture_type(const char *text);

/* What was printed since the last call. */
const char *fixture_printed(void);

/* The guest's accesses, which must be done. */
void fixture_write(unsigned partition, uint32_t offset, uint32_t value);
uint32_t fixture_read(unsigned partition, uint32_t offset);
/* The guest's program sends this. */
void fixture_send(unsigned partition, const char *text);

#endif
