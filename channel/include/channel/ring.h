/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a channel: a ring of messages of any size, with one producer and one consumer,
 * which hand over messages in place. Each keeps its position, and the last one of its peer that it
 * saw, in private memory, and trusts nothing else. A shared word is read once, and checked before
 * use.
 *
 * The content of a message that lies in the peer's memory may change while it is read, if the peer
 * is malicious. A program that checks it must copy it before (copy.h).
 *
 * Positions are bytes since the first use of the channel, and may wrap (format.h). The inline
 * functions work on addresses, in a span: from the next message up to the end of the bytes that
 * were free (for the producer) or complete (for the consumer) when a function ..._slowly() read the
 * peer's index. A span never crosses the end of the ring, and has at most half of it, so that a
 * message that fits is not larger than the largest. An empty span sends every call to the slow
 * function.
 *
 * Nothing here waits, sends notifications or knows of lives; see connection.h and wait.h. A
 * producer or consumer belongs to one thread at a time. Any context.
 */
#ifndef CHANNEL_RING_H
#define CHANNEL_RING_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/linkage.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CHANNEL_C_BEGIN

struct ring_producer {
    uint8_t *next;      /* place of the next message */
    uint8_t *end;       /* end of the free bytes at `next`, at most half the ring */
    uint64_t shift;     /* position of an address, minus the address */
    uint64_t *produced; /* words of the producer's control page: produced and sent */
    uint64_t *sent;
    const uint64_t *waits; /* words of the consumer's control page: waits and consumed */
    const uint64_t *consumed;
    uint8_t *ring;
    uint64_t bytes; /* size of the ring */
    uint64_t limit; /* position up to which the ring is free, as last seen */
    uint64_t *errors;
    bool is_open; /* from ring_producer_begin() to ring_producer_end() */
    struct channel_error error;
};

/* The part of the ring that ring_peek() and ring_release() use without the slow function. */
struct ring_consumer_span {
    const uint8_t *next; /* place of the next message; within a run, of its content */
    /* End of the complete messages, half the ring after `next` at most. The span is empty unless it
     * is after `next`. */
    const uint8_t *end;
    const uint8_t *peeked_end; /* end of the message that ring_peek() returned last */
    const uint8_t *check;      /* ring_release() returns true from this place on */
};

/* The run that the consumer reads (run.h). Within a run the span is empty, because the messages of
 * a run have no headers. */
struct ring_consumer_run {
    const uint8_t *end; /* end of the run's last message; NULL: the consumer is not in a run */
    uint64_t header;
};

struct ring_consumer_positions {
    uint64_t shift;    /* position of an address in the span, minus the address */
    uint64_t complete; /* messages before it are complete, as last seen */
    uint64_t checked;  /* position at the last call of ring_producer_waits() */
};

struct ring_consumer {
    struct ring_consumer_span span;
    struct ring_consumer_run run;
    struct ring_consumer_positions positions;
    uint64_t *consumed; /* words of the consumer's control page: consumed and received */
    uint64_t *received;
    const uint64_t *waits; /* words of the producer's control page: waits and produced */
    const uint64_t *produced;
    const uint8_t *ring;
    uint64_t bytes; /* size of the ring */
    uint64_t *errors;
    bool is_open; /* from ring_consumer_begin() to ring_consumer_end() */
    struct channel_error error;
};

/* Kind of a part of a ring, which begins with a header. */
enum ring_header_kind {
    RING_HEADER_MESSAGE,
    RING_HEADER_RUN,     /* a run; the number and size of its messages are unchecked */
    RING_HEADER_SKIP,    /* the unused rest: the next message is at the start of the ring */
    RING_HEADER_INVALID, /* a message that is larger than the available bytes */
};

/* Begins the use of a ring by its producer. `section`: of the producer; `peer`: control page of the
 * consumer. `bytes`: a power of two from CHANNEL_RING_MIN to CHANNEL_RING_MAX. `position`: value of
 * `produced`, a multiple of CHANNEL_ALIGNMENT. The ring is empty for this consumer. */
void ring_producer_begin(struct ring_producer *producer, void *section,
                         const struct channel_control *peer, uint64_t bytes, uint64_t position);

/* Begins the use of a ring by its consumer. `section`: of the producer; `own`: control page of the
 * consumer. Releases all messages before `position`. */
void ring_consumer_begin(struct ring_consumer *consumer, const void *section,
                         struct channel_control *own, uint64_t bytes, uint64_t position);

/* End the use of the ring: from now on there is no space, or no message. */
void ring_producer_end(struct ring_producer *producer);
void ring_consumer_end(struct ring_consumer *consumer);

/* Internal: the slow functions, which read the peer's index, set a new span, and handle runs. */
uint8_t *ring_reserve_slowly(struct ring_producer *producer, uint64_t length);
const uint8_t *ring_peek_slowly(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag);

/* Returns true if the producer waits for space and should be notified. Call it after a
 * ring_release() that returned true, or after a ring_peek() that returned NULL. So a producer does
 * not wake for each message. */
bool ring_producer_waits(struct ring_consumer *consumer);

/* Returns the number of bytes of a message in the ring, its header included. `length`: bytes of its
 * content, at most UINT32_MAX. */
static inline uint64_t ring_size(uint64_t length)
{
    return (sizeof(struct channel_message) + length + CHANNEL_ALIGNMENT - 1) &
           ~(CHANNEL_ALIGNMENT - 1);
}

/* Returns the number of bytes from one content in a run to the next. */
static inline uint64_t ring_run_step(uint64_t length)
{
    return (length + CHANNEL_ALIGNMENT - 1) & ~(CHANNEL_ALIGNMENT - 1);
}

/* Returns the position of the next message. */
static inline uint64_t ring_producer_position(const struct ring_producer *producer)
{
    return (uintptr_t)producer->next + producer->shift;
}

static inline uint64_t ring_consumer_position(const struct ring_consumer *consumer)
{
    return (uintptr_t)consumer->span.next + consumer->positions.shift;
}

/* Returns the number of bytes of a message's content, from the message's header. */
static inline uint64_t ring_header_length(uint64_t header)
{
    return header & UINT32_MAX;
}

/* Returns the tag of a message, or of the messages of a run, from the header. */
static inline uint32_t ring_header_tag(uint64_t header)
{
    return (uint32_t)(header >> 32);
}

/* Classifies the header at `place`. A message may extend to `end`, over at most CHANNEL_RING_MAX
 * bytes. Both are addresses, or both are distances from one place. They are numbers of 64 bits,
 * because the sum of an address and a size does not wrap then. Bit 31 is set in the headers of runs
 * and of the unused rest of a ring, so neither is a length that fits. */
static inline enum ring_header_kind ring_classify_header(uint64_t header, uint64_t place,
                                                         uint64_t end)
{
    if (__builtin_expect(place + ring_size(ring_header_length(header)) <= end, true)) {
        return RING_HEADER_MESSAGE;
    }
    if (header == CHANNEL_SKIP) {
        return RING_HEADER_SKIP;
    }
    return (header & CHANNEL_RUN) != 0 ? RING_HEADER_RUN : RING_HEADER_INVALID;
}

/* Returns the place for the content of a message of up to `length` bytes, aligned to 8 bytes.
 * Returns NULL if there is no space, if the length exceeds channel_content_max(), or after an
 * error. The place stays reserved until ring_commit(), or the next call. */
static inline uint8_t *ring_reserve(struct ring_producer *producer, uint64_t length)
{
    if (__builtin_expect(length > UINT32_MAX ||
                             ring_size(length) > (uint64_t)(producer->end - producer->next),
                         false)) {
        return ring_reserve_slowly(producer, length);
    }
    return producer->next + sizeof(struct channel_message);
}

/* Completes the reserved message. `length`: its number of bytes, at most the reserved one. The
 * consumer can't see the message before ring_publish(). */
static inline void ring_commit(struct ring_producer *producer, uint64_t length, uint32_t tag)
{
    uint8_t *message = producer->next;

    producer->next = message + ring_size(length);
    word_store(channel_word(message), (uint64_t)tag << 32 | length);
    word_store(producer->sent, word_load(producer->sent) + 1);
}

/* Publishes all committed messages to the consumer. */
static inline void ring_publish(struct ring_producer *producer)
{
    word_store_release(producer->produced, ring_producer_position(producer));
}

/* Does the same as ring_commit() and ring_publish(), with fewer instructions: between the two, a
 * compiler would load the fields of `producer` again, because accesses to shared words may change
 * memory. */
static inline void ring_commit_and_publish(struct ring_producer *producer, uint64_t length,
                                           uint32_t tag)
{
    uint64_t *produced = producer->produced;
    uint64_t *sent = producer->sent;
    uint8_t *message = producer->next;
    uint8_t *next = message + ring_size(length);
    uint64_t position = (uintptr_t)next + producer->shift;

    producer->next = next;
    word_store(channel_word(message), (uint64_t)tag << 32 | length);
    word_store(sent, word_load(sent) + 1);
    word_store_release(produced, position);
}

/* Returns true if the consumer waits for a message, so that it must be notified. Call it after
 * ring_publish(). */
static inline bool ring_consumer_waits(const struct ring_producer *producer)
{
    /* The store of the index is visible before the flag is loaded. A consumer sets the flag before
     * it loads the index for the last time. So at least one of the two sees the other's store. */
    word_fence();
    return (word_load(producer->waits) & CHANNEL_WAITS_FOR_MESSAGE) != 0;
}

/* Returns the content of the oldest message, and sets *length and *tag. The content stays in place
 * until ring_release(). Returns NULL if there is no message, or after an error. */
static inline const uint8_t *ring_peek(struct ring_consumer *consumer, uint64_t *length,
                                       uint32_t *tag)
{
    const uint8_t *next = consumer->span.next;
    uint64_t place = (uintptr_t)next;
    uint64_t end = (uintptr_t)consumer->span.end;
    uint64_t header;

    if (__builtin_expect(end <= place, false)) {
        return ring_peek_slowly(consumer, length, tag);
    }
    header = word_load(channel_constant_word(next));
    *length = ring_header_length(header);
    *tag = ring_header_tag(header);
    if (__builtin_expect(ring_classify_header(header, place, end) != RING_HEADER_MESSAGE, false)) {
        return ring_peek_slowly(consumer, length, tag);
    }
    consumer->span.peeked_end = next + ring_size(*length);
    return next + sizeof(struct channel_message);
}

/* Releases the message that the last ring_peek() returned. Returns true if all messages that were
 * seen are released, or if a quarter of the ring has become free since the last time. Then
 * ring_producer_waits() says whether to notify the producer. */
static inline bool ring_release(struct ring_consumer *consumer)
{
    const uint8_t *next = consumer->span.peeked_end;
    const uint8_t *check = consumer->span.check;
    uint64_t position = (uintptr_t)next + consumer->positions.shift;
    uint64_t *consumed = consumer->consumed;
    uint64_t *received = consumer->received;

    consumer->span.next = next;
    word_store(received, word_load(received) + 1);
    word_store_release(consumed, position);
    return next >= check;
}

CHANNEL_C_END

#endif
