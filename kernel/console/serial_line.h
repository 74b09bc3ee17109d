/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the serial line of the console in the devicetree.
 */
#ifndef SERIAL_LINE_H
#define SERIAL_LINE_H

#include "kernel/interrupt.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns the mapped registers of the PL011 that /chosen/stdout-path names, or of the first PL011;
 * 0 if there is none. Boot. */
uintptr_t serial_line_find(void);

/* Returns the interrupt of the line that serial_line_find() has found. Returns false if it has
 * none. */
bool serial_line_interrupt(uint32_t *number, enum interrupt_trigger *trigger);

#endif
