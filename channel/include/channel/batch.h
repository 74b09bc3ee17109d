/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches: several messages in place that are published, or released, at once.
 *
 * The state of a batch is a local variable of the caller, which the compiler keeps in registers. So
 * a message costs no stores but those of its header and its content. This matters if both sides
 * have a processor each: stores to the ring miss the cache, because its lines are in the other
 * processor's cache. The store buffer limits how many misses are in progress at a time, so each
 * further store for a message costs throughput.
 *
 * A batch ends early at the end of the ring, after half a ring, and at the end of the space that
 * was free, or of the messages that were complete, when the batch began. A received batch also ends
 * where a run begins or ends (run.h). So a batch may be shorter than the caller would like; the
 * next batch continues.
 *
 *     struct send_batch batch = channel_send_batch_begin(channel, length);
 *
 *     while (has_more && (place = send_batch_reserve(&batch, length)) != NULL) {
 *         (write the message)
 *         send_batch_commit(&batch, length, tag);
 *     }
 *     channel_send_batch_end(channel, &batch);
 *
 * Between begin and end of a batch no other function may be called for the same direction of the
 * channel. Contexts are those of ring.h and connection.h.
 */
#ifndef CHANNEL_BATCH_H
#define CHANNEL_BATCH_H

#include "channel/connection.h"
#include "channel/linkage.h"

CHANNEL_C_BEGIN

/* Bytes that a receiver prefetches when a batch begins, and the distance of two prefetches. A
 * processor does not prefetch many lines by itself, because each header tells where the next one
 * is. */
#define BATCH_FETCH_BYTES UINT64_C(512)
#define BATCH_FETCH_STEP  UINT64_C(64)

/* The functions are always inline, because a compiler does not keep a batch in registers if its
 * address is passed to another function. */
#define BATCH_INLINE static inline __attribute__((always_inline))

/* A batch that is being sent. */
struct send_batch {
    uint8_t *next;  /* place of the next message */
    uint8_t *end;   /* end of the free bytes at `next`, at most half the ring */
    uint64_t count; /* number of committed messages */
};

/* A batch that is being received. */
struct receive_batch {
    const uint8_t *next; /* place of the next message; within a run, of its content */
    const uint8_t *end;  /* end of the consumer's span, or of the run */
    uint64_t run_header; /* header of the run; 0: the batch is not in a run */
    uint64_t count;      /* number of messages that receive_batch_next() returned */
};

/* Internal: return batches without messages. */
BATCH_INLINE struct send_batch send_batch_empty(void)
{
    struct send_batch batch = {NULL, NULL, 0};

    return batch;
}

BATCH_INLINE struct receive_batch receive_batch_empty(void)
{
    struct receive_batch batch = {NULL, NULL, 0, 0};

    return batch;
}

/* Internal: returns the batch that begins at the ring's position. */
BATCH_INLINE struct send_batch ring_send_batch(const struct ring_producer *producer)
{
    struct send_batch batch = {producer->next, producer->end, 0};

    return batch;
}

/* Internal: returns the batch that begins with the message that ring_peek() returned. */
BATCH_INLINE struct receive_batch ring_receive_batch(const struct ring_consumer *consumer)
{
    bool is_run = consumer->run.end != NULL;
    struct receive_batch batch = {
        consumer->span.next,
        is_run ? consumer->run.end : consumer->span.end,
        is_run ? consumer->run.header : 0,
        0,
    };
    uint64_t bytes = (uint64_t)(batch.end - batch.next);

    for (uint64_t i = 0; i < bytes && i < BATCH_FETCH_BYTES; i += BATCH_FETCH_STEP) {
        __builtin_prefetch(batch.next + i);
    }
    return batch;
}

/* Begins a batch. Returns an empty batch if the ring has no space for a first message of `length`
 * bytes (ring_reserve()). */
BATCH_INLINE struct send_batch ring_send_batch_begin(struct ring_producer *producer,
                                                     uint64_t length)
{
    if (ring_reserve(producer, length) == NULL) {
        return send_batch_empty();
    }
    return ring_send_batch(producer);
}

/* Returns the place for the next message of the batch, of up to `length` bytes, aligned to 8 bytes.
 * Returns NULL if the batch has no space for it, or if the length exceeds channel_content_max().
 * The place stays reserved until send_batch_commit(), or the next call. */
BATCH_INLINE uint8_t *send_batch_reserve(const struct send_batch *batch, uint64_t length)
{
    if (__builtin_expect(length > UINT32_MAX ||
                             ring_size(length) > (uint64_t)(batch->end - batch->next),
                         false)) {
        return NULL;
    }
    return batch->next + sizeof(struct channel_message);
}

/* Completes the reserved message. `length`: its number of bytes, at most the reserved one. */
BATCH_INLINE void send_batch_commit(struct send_batch *batch, uint64_t length, uint32_t tag)
{
    word_store(channel_word(batch->next), (uint64_t)tag << 32 | length);
    batch->next += ring_size(length);
    batch->count++;
}

/* Publishes the committed messages to the consumer. The batch is not empty. */
BATCH_INLINE void ring_send_batch_end(struct ring_producer *producer,
                                      const struct send_batch *batch)
{
    producer->next = batch->next;
    word_store(producer->sent, word_load(producer->sent) + batch->count);
    ring_publish(producer);
}

/* Begins a batch. Returns an empty batch if the ring has no message, or after an error. */
BATCH_INLINE struct receive_batch ring_receive_batch_begin(struct ring_consumer *consumer)
{
    uint64_t length;
    uint32_t tag;

    if (ring_peek(consumer, &length, &tag) == NULL) {
        return receive_batch_empty();
    }
    return ring_receive_batch(consumer);
}

/* Internal: receive_batch_next() within a run. */
BATCH_INLINE const uint8_t *receive_batch_next_in_run(struct receive_batch *batch, uint64_t *length,
                                                      uint32_t *tag)
{
    const uint8_t *content = batch->next;

    if (content == batch->end) {
        return NULL;
    }
    *length = batch->run_header & CHANNEL_RUN_LENGTH_MAX;
    *tag = ring_header_tag(batch->run_header);
    batch->next += ring_run_step(*length);
    batch->count++;
    return content;
}

/* Returns the content of the next message of the batch, and sets *length and *tag. The content
 * stays in place until the batch ends. Returns NULL if the batch has no further message. */
BATCH_INLINE const uint8_t *receive_batch_next(struct receive_batch *batch, uint64_t *length,
                                               uint32_t *tag)
{
    const uint8_t *message = batch->next;
    uint64_t available = (uint64_t)(batch->end - message);
    uint64_t header;

    if (batch->run_header != 0) {
        return receive_batch_next_in_run(batch, length, tag);
    }
    if (__builtin_expect(available == 0, false)) {
        return NULL;
    }
    header = word_load(channel_constant_word(message));
    *length = ring_header_length(header);
    *tag = ring_header_tag(header);
    /* A run, the end of the ring or an invalid header ends the batch. ring_peek() handles it when
     * the next batch begins. */
    if (__builtin_expect(ring_classify_header(header, 0, available) != RING_HEADER_MESSAGE,
                         false)) {
        return NULL;
    }
    batch->next += ring_size(*length);
    batch->count++;
    return message + sizeof(struct channel_message);
}

/* Returns the contents of the next messages of the batch if they are in a run (run.h) and have
 * `length` bytes each, 1 to CHANNEL_RUN_LENGTH_MAX, and sets *count to their number, at most
 * `most`, and *tag. They lie one behind the other, at distances of ring_run_step(length). They stay
 * in place until the batch ends. Otherwise sets *count to 0: receive_batch_next() returns the next
 * message. A loop over contents that a compiler knows to be contiguous takes fewer instructions
 * than a call for each. */
BATCH_INLINE const uint8_t *receive_batch_next_many(struct receive_batch *batch, uint64_t length,
                                                    uint64_t most, uint64_t *count, uint32_t *tag)
{
    const uint8_t *contents = batch->next;
    uint64_t left;

    *count = 0;
    *tag = ring_header_tag(batch->run_header);
    if ((batch->run_header & CHANNEL_RUN_LENGTH_MAX) != length || length == 0) {
        return contents;
    }
    left = (uint64_t)(batch->end - contents) / ring_run_step(length);
    *count = left < most ? left : most;
    batch->next += *count * ring_run_step(length);
    batch->count += *count;
    return contents;
}

/* Releases the returned messages: their space is free for the producer. The batch is not empty.
 * Returns true under the conditions of ring_release(). */
BATCH_INLINE bool ring_receive_batch_end(struct ring_consumer *consumer,
                                         const struct receive_batch *batch)
{
    consumer->span.next = batch->next;
    word_store(consumer->received, word_load(consumer->received) + batch->count);
    word_store_release(consumer->consumed, ring_consumer_position(consumer));
    return consumer->span.next >= consumer->span.check;
}

/* Begins a batch. Returns an empty batch if the ring has no space for a first message of `length`
 * bytes (channel_send_begin()). */
BATCH_INLINE struct send_batch channel_send_batch_begin(struct channel *channel, uint64_t length)
{
    if (channel_send_begin(channel, length) == NULL) {
        return send_batch_empty();
    }
    return ring_send_batch(&channel->out);
}

/* Sends the committed messages. Notifies the peer if it waits. */
BATCH_INLINE void channel_send_batch_end(struct channel *channel, const struct send_batch *batch)
{
    if (batch->count == 0) {
        return;
    }
    ring_send_batch_end(&channel->out, batch);
    if (__builtin_expect(ring_consumer_waits(&channel->out), false)) {
        channel_notify_peer(channel);
    }
}

/* Begins a batch. Returns an empty batch if there is no message (channel_receive_begin()). */
BATCH_INLINE struct receive_batch channel_receive_batch_begin(struct channel *channel)
{
    uint64_t length;
    uint32_t tag;

    if (channel_receive_begin(channel, &length, &tag) == NULL) {
        return receive_batch_empty();
    }
    return ring_receive_batch(&channel->in);
}

/* Releases the returned messages. Notifies the peer if it waits for space. */
BATCH_INLINE void channel_receive_batch_end(struct channel *channel,
                                            const struct receive_batch *batch)
{
    if (batch->count == 0) {
        return;
    }
    if (__builtin_expect(ring_receive_batch_end(&channel->in, batch), false) &&
        ring_producer_waits(&channel->in)) {
        channel_notify_peer(channel);
    }
}

CHANNEL_C_END

#endif
