/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/value.h"

static bool is_valid(uint64_t ring_bytes)
{
    return ring_bytes >= CHANNEL_RING_MIN && ring_bytes <= CHANNEL_RING_MAX &&
           (ring_bytes & (ring_bytes - 1)) == 0;
}

static struct value_slot *slot_at(const struct value_writer *writer, uint64_t pair, uint64_t index)
{
    return (void *)(writer->slots + (pair * 2 + index) * writer->slot_bytes);
}

static void publish(const struct value_writer *writer, uint64_t pair)
{
    word_store_release(&writer->own->latest, pair);
    word_store_release(&writer->own->produced, writer->number);
}

/* An earlier life may have ended while it published a value, which the reader may have read. The
 * next one needs another number. */
static void recover(struct value_writer *writer)
{
    for (uint64_t pair = 0; pair < 2; pair++) {
        uint64_t number = word_load(&slot_at(writer, pair, writer->newest[pair])->number);

        if (number == writer->number + 1) {
            writer->number = number;
            publish(writer, pair);
        }
    }
}

bool value_writer_begin(struct value_writer *writer, void *section,
                        const struct channel_control *peer, uint64_t ring_bytes)
{
    struct channel_control *own = section;

    if (!is_valid(ring_bytes)) {
        return false;
    }
    /* The newest value of an earlier life remains until there is another. A malicious life may have
     * left any number, from which the next ones must not get to 0. */
    *writer = (struct value_writer){
        .slots = (uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .slot_bytes = ring_bytes / 4,
        .number = word_load(&own->produced) & (UINT64_MAX >> 1),
        .newest = {word_load(&own->newest[0]) & 1, word_load(&own->newest[1]) & 1},
        .own = own,
        .peer = peer,
    };
    recover(writer);
    word_store(&own->ring_bytes, ring_bytes);
    word_store(&own->format, CHANNEL_FORMAT_VALUE);
    return true;
}

bool value_reader_begin(struct value_reader *reader, const void *section,
                        struct channel_control *own, uint64_t ring_bytes)
{
    *reader = (struct value_reader){
        .slots = (const uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .slot_bytes = ring_bytes / 4,
        .own = own,
        .peer = section,
    };
    word_store(&own->armed, 0);
    word_store(&own->waits, 0);
    return is_valid(ring_bytes);
}

uint8_t *value_write_begin(struct value_writer *writer)
{
    writer->pair = (word_load(&writer->peer->reading) & 1) ^ 1;
    /* The reader's loads from this pair are complete: value_read() stores `reading` after them. */
    word_fence_acquire();
    writer->slot = writer->newest[writer->pair] ^ 1;
    return (uint8_t *)(slot_at(writer, writer->pair, writer->slot) + 1);
}

bool value_write_end(struct value_writer *writer, uint64_t length)
{
    struct value_slot *slot = slot_at(writer, writer->pair, writer->slot);
    struct channel_control *own = writer->own;

    writer->number++;
    word_store(&slot->length, length);
    word_store(&slot->number, writer->number);
    writer->newest[writer->pair] = writer->slot;
    /* Release: the value is complete. */
    word_store_release(&own->newest[writer->pair], writer->slot);
    publish(writer, writer->pair);
    own->sent++;
    /* The reader sees this value before value_write_begin() looks at the pair from which it reads,
     * and before its flag is read: see ring_consumer_waits(). */
    word_fence();
    return (word_load(&writer->peer->waits) & CHANNEL_WAITS_FOR_MESSAGE) != 0;
}

static const uint8_t *fail(struct value_reader *reader, enum channel_error_kind kind,
                           uint64_t value)
{
    reader->error = (struct channel_error){kind, value, reader->number};
    reader->own->errors++;
    return NULL;
}

/* Returns the number of the newest value; 0: there is none. Acquire: the format, and the pair of
 * the first value, are seen. */
static uint64_t load_produced(const struct value_reader *reader)
{
    return word_load_acquire(&reader->peer->produced);
}

const uint8_t *value_read(struct value_reader *reader, uint64_t *length)
{
    uint64_t produced = load_produced(reader);
    uint64_t format = word_load(&reader->peer->format);
    uint64_t pair = word_load(&reader->peer->latest) & 1;
    const struct value_slot *slot;
    uint64_t index;

    if (reader->error.kind != CHANNEL_ERROR_NONE || format == 0 || produced == 0) {
        return NULL;
    }
    if (format != CHANNEL_FORMAT_VALUE) {
        return fail(reader, CHANNEL_ERROR_FORMAT, format);
    }
    /* Release: the value that was read last is no longer in use. */
    word_store_release(&reader->own->reading, pair);
    /* The writer sees the pair before its newest slot is read, so that it writes to no slot of the
     * pair but the other one. The fence is also the acquire order of the load of the pair: the
     * pair's newest slot is not older. */
    word_fence();
    index = word_load_acquire(&reader->peer->newest[pair]) & 1;
    slot = (const void *)(reader->slots + (pair * 2 + index) * reader->slot_bytes);
    *length = word_load(&slot->length);
    if (*length > reader->slot_bytes - sizeof(struct value_slot)) {
        return fail(reader, CHANNEL_ERROR_LENGTH, *length);
    }
    reader->number = word_load(&slot->number);
    reader->has_read = true;
    reader->pair = pair;
    reader->slot = index;
    reader->own->received++;
    return (const uint8_t *)(slot + 1);
}

/* Whether the value that was read last is the newest one. Its number does not tell: a malicious
 * life chooses numbers, also those that the next life gives to its values. A writer writes to the
 * other pair than the one from which this side reads. It writes to the same pair at most once after
 * that, if it chose the pair before, and then to the other slot. */
static bool has_newest(const struct value_reader *reader)
{
    const struct channel_control *peer = reader->peer;

    return reader->has_read && (word_load(&peer->latest) & 1) == reader->pair &&
           (word_load(&peer->newest[reader->pair]) & 1) == reader->slot;
}

bool value_is_new(const struct value_reader *reader)
{
    return reader->error.kind == CHANNEL_ERROR_NONE && !has_newest(reader) &&
           load_produced(reader) != 0 && word_load(&reader->peer->format) != 0;
}
