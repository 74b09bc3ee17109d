/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of bytes decides what the user of a channel does, and what its malicious peer writes to
 * the peer's section: between the calls, and before each load of the library. The user must stay
 * within its memory (AddressSanitizer tells), return from each call, and keep its promises, which
 * malicious_run() checks after each call.
 */
#ifndef TESTS_CHANNEL_MALICIOUS_H
#define TESTS_CHANNEL_MALICIOUS_H

#include <stddef.h>
#include <stdint.h>

/* Runs the program. Returns the number of steps. Aborts, with a line on standard error, if the
 * library breaks a promise. */
uint64_t malicious_run(const uint8_t *program, size_t bytes);

/* Called by the library before it loads a shared word. */
void malicious_before_load(const void *word, size_t bytes);

#endif
