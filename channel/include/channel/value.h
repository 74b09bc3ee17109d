/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A channel of values. The reader always gets the newest complete value, in place, and neither side
 * ever waits for the other. Each direction has four slots (Simpson 1990, "Four-slot fully
 * asynchronous communication mechanism"): the writer never writes to the slot that the reader
 * reads.
 *
 * Values have no connection. The newest value remains when its writer ends, and a new life of the
 * writer continues with the next value. The state table says whether the writer's partition
 * executes.
 *
 * If the writer is malicious, a value can change while it is read. A program that checks a value
 * must copy it before.
 */
#ifndef CHANNEL_VALUE_H
#define CHANNEL_VALUE_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/linkage.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>

CHANNEL_C_BEGIN

/* A slot: a quarter of the ring. The content of the value follows. */
struct value_slot {
    uint64_t length;
    uint64_t number; /* number of the value, from 1 */
};

/* The writer of a direction. */
struct value_writer {
    uint8_t *slots;
    uint64_t slot_bytes;
    uint64_t number; /* number of the newest value */
    uint64_t newest[2];
    uint64_t pair; /* pair and slot of the next value */
    uint64_t slot;
    struct channel_control *own;
    const struct channel_control *peer;
};

/* The reader of a direction. */
struct value_reader {
    const uint8_t *slots;
    uint64_t slot_bytes;
    uint64_t number; /* number of the value that was read last; a malicious writer chooses it */
    bool has_read;   /* a value was read, from this pair and slot */
    uint64_t pair;
    uint64_t slot;
    struct channel_control *own;
    const struct channel_control *peer;
    struct channel_error error;
};

/* Returns the number of bytes of the largest value. */
static inline uint64_t value_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 4 - sizeof(struct value_slot);
}

/* Begins a life of the writer. `section`: of the writer; `peer`: control page of the reader.
 * Returns false if the size of the ring is invalid. */
bool value_writer_begin(struct value_writer *writer, void *section,
                        const struct channel_control *peer, uint64_t ring_bytes);

/* Begins to read. `section`: of the writer; `own`: control page of the reader. Returns false if the
 * size of the ring is invalid. */
bool value_reader_begin(struct value_reader *reader, const void *section,
                        struct channel_control *own, uint64_t ring_bytes);

/* Returns the place for the next value, of up to value_content_max() bytes, aligned to 8 bytes. */
uint8_t *value_write_begin(struct value_writer *writer);

/* Publishes the value, of `length` bytes, as the newest one. Returns true if the reader waits for a
 * value, so that it must be notified. */
bool value_write_end(struct value_writer *writer, uint64_t length);

/* Returns the newest value, and sets *length. The value stays unchanged until the next call.
 * Returns NULL if there is no value, or if the writer has violated the format, which `error`
 * describes. */
const uint8_t *value_read(struct value_reader *reader, uint64_t *length);

/* Returns true if value_read() would return a newer value than its last call did. */
bool value_is_new(const struct value_reader *reader);

CHANNEL_C_END

#endif
