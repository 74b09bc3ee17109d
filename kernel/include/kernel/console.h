/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Input from the serial line; for output see kernel/print.h.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "kernel/result.h"
#include <stdint.h>

/* Reads the oldest byte received from the serial line. 64 bytes are buffered; more are lost.
 * Returns RESULT_OK, or RESULT_TIMED_OUT if none came before `deadline`. Thread context; with
 * DEADLINE_POLL any context. */
enum result console_read(char *byte, uint64_t deadline);

#endif
