/* SPDX-License-Identifier: BSD-2-Clause */
/* What the named cases share. Each ends with the driver stopped, created anew by its owner, and
 * frames going both ways. */
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

/* Lies of traffic_lie(). */
enum {
    INDEX_JUMPS = 0,
    ID_NOWHERE = 4,
    ID_AGAIN = 5,
    LONGER = 6,
    HUGE = 7,
    SHORTER = 8,
    DOUBLE = 9,
};

/* Bits of what is not offered; see program.c. */
#define WITHOUT_INDIRECT    0x0002u
#define WITHOUT_PACKED      0x0080u
#define WITHOUT_IN_ORDER    0x0100u
#define WITHOUT_QUEUE_RESET 0x0200u
#define WITHOUT_MERGING     0x0400u

/* 8 receive buffers, the other parameters large. `header`: HEADER_ bits. */
void cases_begin(enum bus bus, unsigned vectors, unsigned header, unsigned without);
/* With 43 of them, enough for large frames, which the driver wants mergeable buffers for. */
void cases_begin_merging(enum bus bus, unsigned vectors, unsigned header, unsigned without);
/* Stops, and tries to start against a device that lies from the first. NULL, or why not. */
const char *cases_start(void);
/* Has the device take so many packets. */
void cases_send(unsigned count);

/* Both end the case. */
void cases_expect_broken(const char *what);
void cases_expect_refused(const char *reason, const char *what);

#endif
