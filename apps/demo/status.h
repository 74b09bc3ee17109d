/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's state as JSON, for the status page and for tests. */
#ifndef DEMO_STATUS_H
#define DEMO_STATUS_H

#include <stddef.h>

/*
 * Writes the state into `text`. Returns its length, 0 if `capacity` or memory did not suffice.
 * lwIP's core lock is held.
 */
size_t status_write(char *text, size_t capacity);

#endif
