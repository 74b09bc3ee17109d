/* SPDX-License-Identifier: BSD-2-Clause */
/* How messages follow each other in standard input and standard output. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 4u

static enum framing framing;

void framing_set(enum framing chosen)
{
    framing = chosen;
}

static void write_length(uint64_t length)
{
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        (void)fputc((int)(length >> (8 * i) & 0xff), stdout);
    }
}

int framing_write(const uint8_t *content, uint64_t length)
{
    if (framing == FRAMING_LENGTHS) {
        write_length(length);
    }
    (void)fwrite(content, 1, (size_t)length, stdout);
    if (framing != FRAMING_LENGTHS) {
        (void)fputc(framing == FRAMING_NULS ? '\0' : '\n', stdout);
    }
    return fflush(stdout) == 0
               ? STATUS_DONE
               : command_fail("standard output can't be written: %s", strerror(errno));
}

static int fail_to_read(void)
{
    return ferror(stdin) ? command_fail("standard input can't be read: %s", strerror(errno))
                         : command_fail("standard input ends within a message");
}

/* Reads the next message after its length. */
static int read_counted(struct input *input, bool *has_message)
{
    uint8_t bytes[LENGTH_BYTES];
    size_t count = fread(bytes, 1, LENGTH_BYTES, stdin);
    char *buffer;

    *has_message = count != 0;
    if (count == 0 && !ferror(stdin)) {
        return STATUS_DONE;
    }
    if (count != LENGTH_BYTES) {
        return fail_to_read();
    }
    input->length = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        input->length |= (uint64_t)bytes[i] << (8 * i);
    }
    if (input->length > CHANNEL_RING_MAX) {
        return command_fail("standard input has a message of %llu bytes: none is so large",
                            (unsigned long long)input->length);
    }
    buffer = realloc(input->content, (size_t)input->length + 1);
    if (buffer == NULL) {
        return command_fail("there is no memory for messages");
    }
    input->content = buffer;
    return fread(buffer, 1, (size_t)input->length, stdin) == input->length ? STATUS_DONE
                                                                           : fail_to_read();
}

/* Reads the next message up to the character that ends it, or to the end of the input. */
static int read_ended(struct input *input, bool *has_message)
{
    int end = framing == FRAMING_NULS ? '\0' : '\n';
    ssize_t bytes = getdelim(&input->content, &input->size, end, stdin);

    *has_message = bytes >= 0;
    if (bytes < 0) {
        return ferror(stdin) ? fail_to_read() : STATUS_DONE;
    }
    if (bytes > 0 && input->content[bytes - 1] == end) {
        bytes--;
    }
    input->length = (uint64_t)bytes;
    return STATUS_DONE;
}

int framing_read(struct input *input, bool *has_message)
{
    return framing == FRAMING_LENGTHS ? read_counted(input, has_message)
                                      : read_ended(input, has_message);
}
