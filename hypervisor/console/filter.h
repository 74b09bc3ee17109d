/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters a guest's output for the terminal (docs/decisions/0019). The filter passes nothing that
 * moves the cursor out of the guest's own line or into the name in front of it, changes a mode of
 * the terminal, or makes the terminal answer. The control functions are those of ECMA-48.
 */
#ifndef CONSOLE_FILTER_H
#define CONSOLE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* Most bytes for one byte of input: a cursor position, and the longest other output, a tabulator or
 * a control sequence. */
#define FILTER_OUTPUT_MAX 24u

/* State of the filter in a line. All zero: the start of a line. */
struct filter {
    uint8_t state;   /* state of the control sequence that is being read (filter.c) */
    bool returned;   /* a carriage return was read, and the cursor has not been moved yet */
    uint16_t column; /* column of the cursor, counted from the end of the name */
    uint16_t number; /* numeric parameter of the control sequence */
};

/*
 * Filters the next byte of the guest's output, which is not a newline. `edits`: the guest has the
 * keyboard and may move the cursor in its line; otherwise only text passes. `margin`: columns of
 * the name in front of the line. Writes the bytes to send to `output`, and returns their number.
 * They must be sent together.
 */
uint32_t filter_byte(struct filter *filter, uint8_t byte, bool edits, uint32_t margin,
                     char output[FILTER_OUTPUT_MAX]);

#endif
