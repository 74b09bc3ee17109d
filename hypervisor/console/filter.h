/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a guest's output that reaches the terminal (docs/decisions/0019): nothing that moves
 * the cursor out of the guest's own line or into the name in front of it, changes a mode of the
 * terminal, or makes the terminal answer. Control functions: ECMA-48.
 */
#ifndef CONSOLE_FILTER_H
#define CONSOLE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* A cursor position, and the longest of the other outputs (a tabulator, or a control sequence). */
#define FILTER_OUTPUT_MAX 24u

/* All zero: the start of a line. */
struct filter {
    uint8_t state;   /* of the control sequence that is being read */
    bool returned;   /* a carriage return was read and not yet sent */
    uint16_t column; /* of the cursor, from the end of the name */
    uint16_t number; /* parameter of the control sequence */
};

/*
 * Takes a byte of the guest's output, not a newline. `edits`: the guest has the keyboard and may
 * move the cursor in its line; otherwise only text passes. `margin`: columns of the name in front
 * of the line. Returns the number of bytes in `output`, which are to be sent together.
 */
uint32_t filter_byte(struct filter *filter, uint8_t byte, bool edits, uint32_t margin,
                     char output[FILTER_OUTPUT_MAX]);

#endif
