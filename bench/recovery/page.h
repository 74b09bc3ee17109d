/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page that the servers of ./bulkhead bench recovery serve, and the order to have a fault. The
 * server, the clients in Linux and the bench (clients.py) have the same definitions.
 */
#ifndef RECOVERY_PAGE_H
#define RECOVERY_PAGE_H

#include <stdint.h>

/* As in the paper's experiment (Quest-V, 4, "Fault Recovery"). */
#define PAGE_LENGTH 17675u

#define HTTP_SERVER_PORT 80u

/* UDP port of the order. Its datagram has the nanoseconds until the fault, in network byte order.
 */
#define FAULT_PORT 9u

struct fault_order {
    uint32_t nanoseconds;
};

/* Returns the byte of the page at an offset, a letter. The letters do not repeat with the period of
 * a segment or of a buffer. */
static inline char page_letter(uint32_t offset)
{
    return (char)('a' + (offset + offset / 26 + offset / 997) % 26);
}

#endif
