/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for the named cases. Each case ends when the owner has stopped the driver and created
 * it again, and frames pass both ways. */
#ifndef TESTS_HOSTILE_CASES_H
#define TESTS_HOSTILE_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostile.h"

#define RECEIVE  0u
#define TRANSMIT 1u

/* Faults for traffic_lie(). */
enum {
    INDEX_JUMPS = 0,
    ID_NOWHERE = 4,
    ID_AGAIN = 5,
    LONGER = 6,
    HUGE = 7,
    SHORTER = 8,
    DOUBLE = 9,
};

/* Bits of features that are not offered; see program.c. */
#define WITHOUT_INDIRECT    0x0002u
#define WITHOUT_PACKED      0x0080u
#define WITHOUT_IN_ORDER    0x0100u
#define WITHOUT_QUEUE_RESET 0x0200u
#define WITHOUT_MERGING     0x0400u

/* Starts a case with 8 receive buffers and large values for the other parameters. `header`: HEADER_
 * bits. */
void cases_begin(enum bus bus, unsigned vectors, unsigned header, unsigned without);
/* Starts a case with 43 receive buffers, enough for large frames; the driver then wants mergeable
 * buffers. */
void cases_begin_merging(enum bus bus, unsigned vectors, unsigned header, unsigned without);
/* Stops the driver and tries to start it on a device that is malicious from the beginning. Returns
 * NULL if it starts, else the reason. */
const char *cases_start(void);
/* Makes the device take `count` packets. */
void cases_send(unsigned count);

/* Checks for the expected failure and ends the case. */
void cases_expect_broken(const char *what);
void cases_expect_refused(const char *reason, const char *what);

#endif
