/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's state as JSON, for the status page and for tests. */
#ifndef DEMO_STATUS_H
#define DEMO_STATUS_H

#include "status_vcpus.h"
#include <stddef.h>

/* Room for 24 threads, 16 connections and 16 VCPUs with numbers of the greatest length. */
#define STATUS_BYTES (14096u + STATUS_VCPUS_BYTES)

/*
 * Writes the state to `text`. Returns its length, or 0 if `capacity` or memory does not suffice.
 * Thread context, lwIP's core lock held.
 */
size_t status_write(char *text, size_t capacity);

#endif
