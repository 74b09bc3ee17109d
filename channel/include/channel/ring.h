/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a channel: a ring of messages of any size, with one producer and one consumer,
 * which hand over messages in place. Each keeps its position, and the last one of its peer that it
 * saw, in private memory, and trusts nothing else. A shared word is read once, and checked before
 * use.
 *
 * The content of a message that lies in the peer's memory may change while it is read, if the peer
 * is malicious. Who decides by it, copies it first (copy.h).
 *
 * Nothing here waits, sends notifications or knows of lives; see connection.h and wait.h. A
 * producer or consumer belongs to one thread at a time. Any context.
 */
#ifndef CHANNEL_RING_H
#define CHANNEL_RING_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_producer {
    uint8_t *ring;
    uint64_t bytes;    /* of the ring */
    uint64_t position; /* of the next message */
    uint64_t limit;    /* up to which the ring is free, as last seen */
    uint64_t start;    /* of the first message for this consumer */
    struct channel_control *own;
    const struct channel_control *peer;
    struct channel_error error;
};

struct ring_consumer {
    const uint8_t *ring;
    uint64_t bytes;
    uint64_t position; /* of the next message */
    uint64_t limit;    /* up to which messages are complete, as last seen */
    uint64_t size;     /* of the message that was peeked, with its header; 0: none */
    uint64_t checked;  /* position at which it last looked whether the producer waits */
    struct channel_control *own;
    const struct channel_control *peer; /* NULL after ring_consumer_end() */
    struct channel_error error;
};

/* `section`: the producer's; `peer`: the consumer's control page. `bytes`: a power of two from
 * CHANNEL_RING_MIN to CHANNEL_RING_MAX. `position`: a multiple of CHANNEL_ALIGNMENT at which the
 * ring is empty. */
void ring_producer_begin(struct ring_producer *producer, void *section,
                         const struct channel_control *peer, uint64_t bytes, uint64_t position);

/* `section`: the producer's; `own`: the consumer's control page. Releases all before `position`. */
void ring_consumer_begin(struct ring_consumer *consumer, const void *section,
                         struct channel_control *own, uint64_t bytes, uint64_t position);

/* Ends the use: from now on the ring is empty. */
void ring_consumer_end(struct ring_consumer *consumer);

/* Internal: the paths of ring_reserve() and ring_peek() that read the peer's index. */
uint8_t *ring_reserve_slowly(struct ring_producer *producer, uint64_t length);
const uint8_t *ring_peek_slowly(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag);

/* Returns the bytes of a message in the ring. */
static inline uint64_t ring_size(uint64_t length)
{
    return (sizeof(struct channel_message) + length + CHANNEL_ALIGNMENT - 1) &
           ~(CHANNEL_ALIGNMENT - 1);
}

/* Returns the place for the content of a message of up to `length` bytes, aligned to 8 bytes. NULL
 * if there is no space, if the length exceeds channel_content_max(), or after an error. It stays
 * reserved until ring_commit(), or the next call. */
static inline uint8_t *ring_reserve(struct ring_producer *producer, uint64_t length)
{
    uint64_t offset = producer->position & (producer->bytes - 1);
    uint64_t size = ring_size(length);

    if (__builtin_expect(length > channel_content_max(producer->bytes) ||
                             size > producer->bytes - offset ||
                             size > producer->limit - producer->position,
                         false)) {
        return ring_reserve_slowly(producer, length);
    }
    return producer->ring + offset + sizeof(struct channel_message);
}

/* Completes the reserved message. `length`: its bytes, no more than were reserved. The consumer
 * can't see it before ring_publish(). */
static inline void ring_commit(struct ring_producer *producer, uint64_t length, uint32_t tag)
{
    uint64_t offset = producer->position & (producer->bytes - 1);

    word_store((uint64_t *)(void *)(producer->ring + offset), (uint64_t)tag << 32 | length);
    producer->position += ring_size(length);
    producer->own->sent++;
}

/* Shows all committed messages to the consumer. */
static inline void ring_publish(struct ring_producer *producer)
{
    word_store_release(&producer->own->produced, producer->position);
}

/* Call after ring_publish(). Returns true if the consumer waits for a message, so that it needs a
 * notification. */
static inline bool ring_consumer_waits(const struct ring_producer *producer)
{
    /* The index is visible before the flag is read. A consumer sets the flag before it looks at
     * the index a last time. So one of both sees the other's store. */
    word_fence();
    return (word_load(&producer->peer->waits) & CHANNEL_WAITS_FOR_MESSAGE) != 0;
}

/* Returns the content of the oldest message and its `length` and `tag`. NULL if there is none, or
 * after an error. It stays in place until ring_release(). */
static inline const uint8_t *ring_peek(struct ring_consumer *consumer, uint64_t *length,
                                       uint32_t *tag)
{
    uint64_t offset = consumer->position & (consumer->bytes - 1);
    uint64_t available = consumer->limit - consumer->position;
    uint64_t to_end = consumer->bytes - offset;
    uint64_t header;
    uint64_t size;

    if (__builtin_expect(available == 0, false)) {
        return ring_peek_slowly(consumer, length, tag);
    }
    header = word_load((const uint64_t *)(const void *)(consumer->ring + offset));
    *length = header & UINT32_MAX;
    *tag = (uint32_t)(header >> 32);
    size = ring_size(*length);
    if (__builtin_expect(size > available || size > to_end, false)) {
        return ring_peek_slowly(consumer, length, tag);
    }
    consumer->size = size;
    return consumer->ring + offset + sizeof(struct channel_message);
}

/* Gives the space of the peeked message back to the producer. No effect if none was peeked. */
static inline void ring_release(struct ring_consumer *consumer)
{
    consumer->position += consumer->size;
    consumer->own->received += consumer->size != 0;
    consumer->size = 0;
    word_store_release(&consumer->own->consumed, consumer->position);
}

/* Call after ring_release() or an unsuccessful ring_peek(). Returns true if the producer waits for
 * space and should be notified: when the ring is empty, or a quarter of it became free, so that
 * a producer does not wake for each message. */
static inline bool ring_producer_waits(struct ring_consumer *consumer)
{
    bool is_empty = consumer->position == consumer->limit;

    if (consumer->position - consumer->checked < (is_empty ? 1 : consumer->bytes / 4)) {
        return false;
    }
    consumer->checked = consumer->position;
    if (consumer->peer == NULL) {
        return false;
    }
    /* See ring_consumer_waits(). */
    word_fence();
    return (word_load(&consumer->peer->waits) & CHANNEL_WAITS_FOR_SPACE) != 0;
}

#endif
