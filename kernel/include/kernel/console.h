/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Input from the serial line; for output see kernel/print.h.
 */
#ifndef KERNEL_CONSOLE_H
#define KERNEL_CONSOLE_H

#include "kernel/result.h"
#include <stdint.h>

/* Takes the oldest byte that was typed. Up to 64 wait, more are lost. Thread context.
 * RESULT_OK, RESULT_TIMED_OUT (with DEADLINE_POLL: nothing is there). */
enum result console_read(char *byte, uint64_t deadline);

#endif
