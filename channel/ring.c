/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/ring.h"

/* Without space, and without messages, the inline functions leave everything to those below, which
 * do nothing after an error. */
static void fail_producer(struct ring_producer *producer, enum channel_error_kind kind,
                          uint64_t value)
{
    producer->error = (struct channel_error){kind, value, producer->position};
    producer->limit = producer->position;
    producer->own->errors++;
}

static void fail_consumer(struct ring_consumer *consumer, enum channel_error_kind kind,
                          uint64_t value)
{
    consumer->error = (struct channel_error){kind, value, consumer->position};
    consumer->limit = consumer->position;
    consumer->own->errors++;
}

void ring_producer_begin(struct ring_producer *producer, void *section,
                         const struct channel_control *peer, uint64_t bytes, uint64_t position)
{
    *producer = (struct ring_producer){
        .ring = (uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = bytes,
        .position = position,
        .limit = position + bytes,
        .start = position,
        .own = section,
        .peer = peer,
    };
    /* Relaxed: it shows nothing new. ring_consumer_waits() has ordered the messages of the last
     * life, which a consumer may still read, and the connection orders both lives. */
    word_store(&producer->own->produced, position);
}

void ring_consumer_begin(struct ring_consumer *consumer, const void *section,
                         struct channel_control *own, uint64_t bytes, uint64_t position)
{
    *consumer = (struct ring_consumer){
        .ring = (const uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = bytes,
        .position = position,
        .limit = position,
        .checked = position,
        .own = own,
        .peer = section,
    };
    /* Relaxed: the connection orders what the last life of this side read. */
    word_store(&own->consumed, position);
}

void ring_consumer_end(struct ring_consumer *consumer)
{
    consumer->limit = consumer->position;
    consumer->size = 0;
    consumer->peer = NULL;
}

/* Reads how far the consumer is. Returns false if its index is invalid. */
static bool read_consumed(struct ring_producer *producer)
{
    /* Acquire: the consumer has read the content of what it released. */
    uint64_t consumed = word_load_acquire(&producer->peer->consumed);
    uint64_t last_seen = producer->limit - producer->bytes;

    /* The index is still one of an earlier consumer, which did not read all messages. */
    if (consumed < producer->start) {
        return true;
    }
    if (consumed - last_seen > producer->position - last_seen ||
        consumed % CHANNEL_ALIGNMENT != 0) {
        fail_producer(producer, CHANNEL_ERROR_CONSUMED, consumed);
        return false;
    }
    producer->limit = consumed + producer->bytes;
    return true;
}

uint8_t *ring_reserve_slowly(struct ring_producer *producer, uint64_t length)
{
    uint64_t offset = producer->position & (producer->bytes - 1);
    uint64_t to_end = producer->bytes - offset;
    uint64_t size = ring_size(length);
    uint64_t skipped = size > to_end ? to_end : 0;

    if (producer->error.kind != CHANNEL_ERROR_NONE ||
        length > channel_content_max(producer->bytes)) {
        return NULL;
    }
    if (skipped + size > producer->limit - producer->position &&
        (!read_consumed(producer) || skipped + size > producer->limit - producer->position)) {
        return NULL;
    }
    if (skipped != 0) {
        word_store((uint64_t *)(void *)(producer->ring + offset), CHANNEL_SKIP);
        producer->position += skipped;
        offset = 0;
    }
    return producer->ring + offset + sizeof(struct channel_message);
}

/* Reads how far the producer is. Returns false if its index is invalid. */
static bool read_produced(struct ring_consumer *consumer)
{
    /* Acquire: the messages before the index are complete. */
    uint64_t produced = word_load_acquire(&consumer->peer->produced);

    if (produced - consumer->position > consumer->bytes || produced % CHANNEL_ALIGNMENT != 0 ||
        produced - consumer->position < consumer->limit - consumer->position) {
        fail_consumer(consumer, CHANNEL_ERROR_PRODUCED, produced);
        return false;
    }
    consumer->limit = produced;
    return true;
}

/* Handles an empty ring, a ring's end, and a header that is invalid. */
const uint8_t *ring_peek_slowly(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag)
{
    consumer->size = 0;
    while (consumer->peer != NULL && consumer->error.kind == CHANNEL_ERROR_NONE) {
        uint64_t offset = consumer->position & (consumer->bytes - 1);
        uint64_t to_end = consumer->bytes - offset;
        uint64_t header;

        if (consumer->position == consumer->limit &&
            (!read_produced(consumer) || consumer->position == consumer->limit)) {
            return NULL;
        }
        header = word_load((const uint64_t *)(const void *)(consumer->ring + offset));
        *length = header & UINT32_MAX;
        *tag = (uint32_t)(header >> 32);
        /* Every message fits at the start of the ring, so a second skip in a row is invalid. */
        if (header == CHANNEL_SKIP && offset != 0 &&
            to_end <= consumer->limit - consumer->position) {
            consumer->position += to_end;
            continue;
        }
        if (*length > channel_content_max(consumer->bytes) || ring_size(*length) > to_end ||
            ring_size(*length) > consumer->limit - consumer->position) {
            fail_consumer(consumer, CHANNEL_ERROR_LENGTH, header);
            return NULL;
        }
        consumer->size = ring_size(*length);
        return consumer->ring + offset + sizeof(struct channel_message);
    }
    return NULL;
}
