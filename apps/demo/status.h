/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's state as JSON, for the status page and for tests. */
#ifndef DEMO_STATUS_H
#define DEMO_STATUS_H

#include <stddef.h>

/*
 * Writes the state to `text`. Returns its length, or 0 if `capacity` or memory does not suffice.
 * Thread context, lwIP's core lock held.
 */
size_t status_write(char *text, size_t capacity);

#endif
