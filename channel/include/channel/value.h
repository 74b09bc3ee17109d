/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A channel of kind "value": the reader always gets the newest complete value, in place, and
 * neither side ever waits for the other. Each direction has four slots (Simpson 1990, "Four-slot
 * fully asynchronous communication mechanism"): the writer never writes to the slot that the reader
 * reads.
 *
 * Values have no connection: the newest one remains when its writer ends, and a new life of the
 * writer goes on with the next. The state table tells whether the writer's partition executes.
 *
 * If the writer is malicious, a value can change while it is read. A program that checks it must
 * copy it before.
 */
#ifndef CHANNEL_VALUE_H
#define CHANNEL_VALUE_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>

/* A slot: a quarter of the ring. */
struct value_slot {
    uint64_t length;
    uint64_t number; /* of the value, from 1 on */
    uint8_t content[];
};

struct value_writer {
    uint8_t *slots;
    uint64_t slot_bytes;
    uint64_t number; /* of the newest value */
    uint64_t newest[2];
    uint64_t pair; /* where the next value goes */
    uint64_t slot;
    struct channel_control *own;
    const struct channel_control *peer;
};

struct value_reader {
    const uint8_t *slots;
    uint64_t slot_bytes;
    uint64_t number; /* of the value that was read last; 0: none */
    struct channel_control *own;
    const struct channel_control *peer;
    struct channel_error error;
};

/* The largest value. */
static inline uint64_t value_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 4 - sizeof(struct value_slot);
}

/* `section`: the writer's; `peer`: the reader's control page. Returns false if the size of the ring
 * is invalid. */
bool value_writer_begin(struct value_writer *writer, void *section,
                        const struct channel_control *peer, uint64_t ring_bytes);

/* `section`: the writer's; `own`: the reader's control page. Returns false if the size is invalid.
 */
bool value_reader_begin(struct value_reader *reader, const void *section,
                        struct channel_control *own, uint64_t ring_bytes);

/* Returns the place for the next value, of up to value_content_max() bytes, aligned to 8 bytes. */
uint8_t *value_write_begin(struct value_writer *writer);

/* Makes the value of `length` bytes the newest one. Returns true if the reader waits for it, so
 * that it needs a notification. */
bool value_write_end(struct value_writer *writer, uint64_t length);

/* Returns the newest value and its length. It stays unchanged until the next call. NULL if there is
 * none, or if the writer violated the format, which `error` tells. */
const uint8_t *value_read(struct value_reader *reader, uint64_t *length);

/* Returns true if value_read() would return another value than at its last call. */
bool value_is_new(const struct value_reader *reader);

#endif
