/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/filter.h"

#define BELL       0x07u
#define BACKSPACE  0x08u
#define TABULATOR  0x09u
#define RETURN     0x0du
#define CANCEL     0x18u
#define SUBSTITUTE 0x1au
#define ESCAPE     0x1bu
#define DELETE     0x7fu

#define TAB_COLUMNS 8u
/* Limit of the counted columns, and of a parameter. Terminals are narrower. */
#define NUMBER_MAX 9999u

/* The part of the guest's output in which the next byte is (ECMA-48, 5.3 and 5.4). */
enum filter_state {
    TEXT,
    AFTER_ESCAPE,
    IN_SEQUENCE,         /* control sequence (CSI) with at most one number so far */
    IN_UNKNOWN_SEQUENCE, /* control sequence (CSI) with other parameters, which is dropped */
    /* Control string (DCS, OSC, SOS, PM, APC), which ends with ST, or with BEL as in xterm. */
    IN_STRING,
    IN_STRING_ESCAPE
};

struct output {
    char *bytes;
    uint32_t count;
};

static void put(struct output *output, char byte)
{
    output->bytes[output->count++] = byte;
}

/* Writes the control sequence CSI `number` `function`. */
static void put_sequence(struct output *output, uint32_t number, char function)
{
    uint32_t scale = 1;

    put(output, (char)ESCAPE);
    put(output, '[');
    while (number / scale >= 10) {
        scale *= 10;
    }
    for (; scale != 0; scale /= 10) {
        put(output, (char)('0' + number / scale % 10));
    }
    put(output, function);
}

/* Moves the terminal's cursor to the filter's column. The absolute position (CHA) stays right of
 * the name on a terminal of any width. A relative movement could enter the name where a line is
 * wider than the terminal. */
static void put_cursor_position(struct filter *filter, struct output *output, uint32_t margin)
{
    put_sequence(output, margin + filter->column + 1, 'G');
    filter->returned = false;
}

static uint16_t add(uint16_t column, uint32_t count)
{
    return (uint16_t)(column + count < NUMBER_MAX ? column + count : NUMBER_MAX);
}

static void move(struct filter *filter, struct output *output, uint32_t margin, int32_t columns)
{
    if (columns < 0 && filter->column < (uint32_t)-columns) {
        filter->column = 0;
    } else if (columns < 0) {
        filter->column = (uint16_t)(filter->column + columns);
    } else {
        filter->column = add(filter->column, (uint32_t)columns);
    }
    put_cursor_position(filter, output, margin);
}

static void put_text(struct filter *filter, struct output *output, uint32_t margin, char byte,
                     uint32_t count)
{
    if (filter->returned) {
        put_cursor_position(filter, output, margin);
    }
    filter->column = add(filter->column, count);
    for (; count != 0; count--) {
        put(output, byte);
    }
}

/* Ends a control sequence. Passes the functions that line editors use. All of them act on the
 * cursor's line, at the cursor or right of it. Erase in Display (J) acts below as well, where the
 * terminal shows nothing: the guest's line is the last one. */
static void end_sequence(struct filter *filter, struct output *output, uint32_t margin,
                         uint8_t function)
{
    uint16_t number = filter->number;
    int32_t count = number == 0 ? 1 : number;
    bool erases = (function == 'J' || function == 'K') && number == 0;

    if (function == 'C') {
        move(filter, output, margin, count);
    } else if (function == 'D') {
        move(filter, output, margin, -count);
    } else if (erases || function == 'P' || function == '@' || function == 'X') {
        if (filter->returned) {
            put_cursor_position(filter, output, margin);
        }
        put_sequence(output, number, (char)function);
    }
}

/* Reads a parameter byte or intermediate byte: ' ' to '?'. All bytes after these end the
 * sequence. */
static void continue_sequence(struct filter *filter, uint8_t byte)
{
    if (byte < '0' || byte > '9') {
        filter->state = IN_UNKNOWN_SEQUENCE;
    } else {
        uint32_t number = 10u * filter->number + (byte - '0');

        filter->number = (uint16_t)(number < NUMBER_MAX ? number : NUMBER_MAX);
    }
}

static uint8_t after_escape(struct filter *filter, uint8_t byte)
{
    filter->number = 0;
    if (byte == '[') {
        return IN_SEQUENCE;
    }
    if (byte == 'P' || byte == ']' || byte == 'X' || byte == '^' || byte == '_') {
        return IN_STRING;
    }
    /* An intermediate byte: another byte of the escape sequence follows (ECMA-35). */
    return byte < '0' ? AFTER_ESCAPE : TEXT;
}

static uint8_t in_string(uint8_t state, uint8_t byte)
{
    if (byte == BELL || byte == CANCEL || byte == SUBSTITUTE ||
        (state == IN_STRING_ESCAPE && byte == '\\')) {
        return TEXT;
    }
    return byte == ESCAPE ? IN_STRING_ESCAPE : IN_STRING;
}

/* Handles a byte outside of control sequences and strings: text, or a control function of one byte.
 * Drops DEL and the bytes 0x80 to 0x9f, which a terminal may take for C1 controls. The terminal's
 * encoding is unknown, so a UTF-8 character, whose first byte is above 0xbf, becomes a question
 * mark. */
static void filter_single_byte(struct filter *filter, struct output *output, uint32_t margin,
                               uint8_t byte, bool edits)
{
    if (byte >= ' ' && byte < DELETE) {
        put_text(filter, output, margin, (char)byte, 1);
    } else if (byte >= 0xc0) {
        put_text(filter, output, margin, '?', 1);
    } else if (byte == ESCAPE) {
        filter->state = AFTER_ESCAPE;
    } else if (byte == TABULATOR) {
        put_text(filter, output, margin, ' ', TAB_COLUMNS - filter->column % TAB_COLUMNS);
    } else if (edits && byte == RETURN) {
        filter->column = 0;
        filter->returned = true;
    } else if (edits && byte == BACKSPACE) {
        move(filter, output, margin, -1);
    } else if (edits && byte == BELL) {
        put(output, (char)BELL);
    }
}

uint32_t filter_byte(struct filter *filter, uint8_t byte, bool edits, uint32_t margin,
                     char output[FILTER_OUTPUT_MAX])
{
    struct output bytes = {output, 0};
    bool in_sequence = filter->state == IN_SEQUENCE || filter->state == IN_UNKNOWN_SEQUENCE;

    if (filter->state == IN_STRING || filter->state == IN_STRING_ESCAPE) {
        filter->state = in_string(filter->state, byte);
    } else if (filter->state == TEXT || byte < ' ' || byte >= DELETE) {
        filter->state = TEXT; /* a control function aborts an incomplete sequence */
        filter_single_byte(filter, &bytes, margin, byte, edits);
    } else if (!in_sequence) {
        filter->state = after_escape(filter, byte);
    } else if (byte < '@') {
        continue_sequence(filter, byte);
    } else {
        if (edits && filter->state == IN_SEQUENCE) {
            end_sequence(filter, &bytes, margin, byte);
        }
        filter->state = TEXT;
    }
    return bytes.count;
}
