/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which serial line is the console: the devicetree's word.
 */
#ifndef SERIAL_LINE_H
#define SERIAL_LINE_H

#include "kernel/interrupt.h"
#include <stdbool.h>
#include <stdint.h>

/* The mapped registers of the PL011 that /chosen/stdout-path names, or of the first there is; 0:
 * there is none. Boot. */
uintptr_t serial_line_find(void);

/* Its interrupt, after it was found. */
bool serial_line_interrupt(uint32_t *number, enum interrupt_trigger *trigger);

#endif
