/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/ring.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Empties the span, so that every later ring_reserve() calls ring_reserve_slowly(), which returns
 * NULL after an error. */
static void fail_producer(struct ring_producer *producer, enum channel_error_kind kind,
                          uint64_t value)
{
    producer->error = (struct channel_error){kind, value, ring_producer_position(producer)};
    producer->end = producer->next;
    word_store(producer->errors, word_load(producer->errors) + 1);
}

/* Empties the span, so that every later ring_peek() calls ring_peek_slowly(), which returns NULL
 * after an error. */
static void fail_consumer(struct ring_consumer *consumer, enum channel_error_kind kind,
                          uint64_t value)
{
    consumer->error = (struct channel_error){kind, value, ring_consumer_position(consumer)};
    consumer->span.end = consumer->span.next;
    word_store(consumer->errors, word_load(consumer->errors) + 1);
}

/* Sets the position, with an empty span. */
static void move_producer(struct ring_producer *producer, uint64_t position)
{
    producer->next = producer->ring + (position & (producer->bytes - 1));
    producer->end = producer->next;
    producer->shift = position - (uintptr_t)producer->next;
}

/* Sets the position, with an empty span. The members are set one by one, because GenMC can't
 * execute a copy of a struct to where a pointer says (tests/memory_order/genmc/). */
static void move_consumer(struct ring_consumer *consumer, uint64_t position)
{
    const uint8_t *next = consumer->ring + (position & (consumer->bytes - 1));

    consumer->span.next = next;
    consumer->span.end = next;
    consumer->span.peeked_end = next;
    consumer->span.check = next;
    consumer->positions.shift = position - (uintptr_t)next;
}

void ring_producer_begin(struct ring_producer *producer, void *section,
                         const struct channel_control *peer, uint64_t bytes, uint64_t position)
{
    struct channel_control *own = section;

    *producer = (struct ring_producer){
        .produced = &own->produced,
        .sent = &own->sent,
        .waits = &peer->waits,
        .consumed = &peer->consumed,
        .ring = (uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = bytes,
        .limit = position + bytes,
        .errors = &own->errors,
        .is_open = true,
    };
    move_producer(producer, position);
}

void ring_consumer_begin(struct ring_consumer *consumer, const void *section,
                         struct channel_control *own, uint64_t bytes, uint64_t position)
{
    const struct channel_control *peer = section;

    *consumer = (struct ring_consumer){
        .consumed = &own->consumed,
        .received = &own->received,
        .waits = &peer->waits,
        .produced = &peer->produced,
        .ring = (const uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = bytes,
        .positions = {.complete = position, .checked = position},
        .errors = &own->errors,
        .is_open = true,
    };
    move_consumer(consumer, position);
    /* Relaxed: the connection orders what the last life of this side read. */
    word_store(consumer->consumed, position);
}

void ring_producer_end(struct ring_producer *producer)
{
    producer->end = producer->next;
    producer->is_open = false;
}

void ring_consumer_end(struct ring_consumer *consumer)
{
    consumer->span.end = consumer->span.next;
    consumer->is_open = false;
}

/* Reads the consumer's index. Returns false if its index is invalid. */
static bool read_consumed(struct ring_producer *producer)
{
    /* Acquire: the consumer has read the content of what it released. */
    uint64_t consumed = word_load_acquire(producer->consumed);
    uint64_t position = ring_producer_position(producer);
    uint64_t last_seen = producer->limit - producer->bytes;

    if (consumed - last_seen > position - last_seen || consumed % CHANNEL_ALIGNMENT != 0) {
        fail_producer(producer, CHANNEL_ERROR_CONSUMED, consumed);
        return false;
    }
    producer->limit = consumed + producer->bytes;
    return true;
}

uint8_t *ring_reserve_slowly(struct ring_producer *producer, uint64_t length)
{
    uint64_t position = ring_producer_position(producer);
    uint64_t to_end = producer->bytes - (position & (producer->bytes - 1));
    uint64_t size;
    uint64_t skipped;

    if (!producer->is_open || producer->error.kind != CHANNEL_ERROR_NONE ||
        length > channel_content_max(producer->bytes)) {
        return NULL;
    }
    size = ring_size(length);
    skipped = size > to_end ? to_end : 0;
    if (skipped + size > producer->limit - position &&
        (!read_consumed(producer) || skipped + size > producer->limit - position)) {
        return NULL;
    }
    if (skipped != 0) {
        word_store(channel_word(producer->next), CHANNEL_SKIP);
        position += skipped;
        to_end = producer->bytes;
    }
    move_producer(producer, position);
    /* Half the ring, so that a larger message than the largest is refused above. */
    producer->end += smaller(smaller(producer->limit - position, to_end), producer->bytes / 2);
    return producer->next + sizeof(struct channel_message);
}

/* Reads the producer's index. Returns false if its index is invalid. */
static bool read_produced(struct ring_consumer *consumer)
{
    /* Acquire: the messages before the index are complete. */
    uint64_t produced = word_load_acquire(consumer->produced);
    uint64_t position = ring_consumer_position(consumer);

    if (produced - position > consumer->bytes || produced % CHANNEL_ALIGNMENT != 0 ||
        produced - position < consumer->positions.complete - position) {
        fail_consumer(consumer, CHANNEL_ERROR_PRODUCED, produced);
        return false;
    }
    consumer->positions.complete = produced;
    return true;
}

/* Returns the complete bytes from the next message on, up to the end of the ring at most. */
static uint64_t complete_bytes(const struct ring_consumer *consumer)
{
    uint64_t to_end = (uint64_t)(consumer->ring + consumer->bytes - consumer->span.next);

    return smaller(consumer->positions.complete - ring_consumer_position(consumer), to_end);
}

/* Sets where ring_release() returns true: at the end of the complete bytes, or of those in the
 * span, or a quarter of the ring after the last check. */
static void set_check(struct ring_consumer *consumer, uint64_t complete)
{
    uint64_t since_check = ring_consumer_position(consumer) - consumer->positions.checked;
    uint64_t quarter = consumer->bytes / 4;
    uint64_t to_check = since_check < quarter ? quarter - since_check : 0;

    consumer->span.check = consumer->span.next + smaller(complete, to_check);
}

/* Returns the next message of the run. */
static const uint8_t *peek_in_run(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag)
{
    *length = consumer->run.header & CHANNEL_RUN_LENGTH_MAX;
    *tag = ring_header_tag(consumer->run.header);
    consumer->span.peeked_end = consumer->span.next + ring_run_step(*length);
    return consumer->span.next;
}

/* Begins the run at the position. `available`: the bytes that it may have. Returns its first
 * message; NULL after an error, if the number or the size of its messages is invalid. */
static const uint8_t *begin_run(struct ring_consumer *consumer, uint64_t header, uint64_t available,
                                uint64_t *length, uint32_t *tag)
{
    uint64_t count = (header & (CHANNEL_RUN - 1)) >> CHANNEL_RUN_COUNT_SHIFT;
    uint64_t contents = count * ring_run_step(header & CHANNEL_RUN_LENGTH_MAX);

    if (contents == 0 || count > CHANNEL_RUN_COUNT_MAX || ring_size(contents) > available) {
        fail_consumer(consumer, CHANNEL_ERROR_LENGTH, header);
        return NULL;
    }
    consumer->span.next += sizeof(struct channel_message);
    consumer->span.end = consumer->span.next;
    consumer->run = (struct ring_consumer_run){consumer->span.next + contents, header};
    set_check(consumer, complete_bytes(consumer));
    return peek_in_run(consumer, length, tag);
}

/* Begins the message at the position, and the span of the complete messages there. `available`: the
 * bytes that it may have, half the ring at most, so that no later message of the span is larger
 * than the largest. */
static const uint8_t *begin_message(struct ring_consumer *consumer, uint64_t header,
                                    uint64_t available, uint64_t *length, uint32_t *tag)
{
    *length = ring_header_length(header);
    *tag = ring_header_tag(header);
    consumer->span.end = consumer->span.next + available;
    consumer->span.peeked_end = consumer->span.next + ring_size(*length);
    set_check(consumer, available);
    return consumer->span.next + sizeof(struct channel_message);
}

/* Ends the run if its last message was released. Returns true if the consumer is still in it. */
static bool is_in_run(struct ring_consumer *consumer)
{
    if (consumer->run.end == consumer->span.next) {
        consumer->run.end = NULL;
    }
    return consumer->run.end != NULL;
}

/* Steps over the unused rest of the ring. Returns false after an error. Every message fits at the
 * start of the ring, so a rest that begins there is invalid, as is one that is not complete. */
static bool skip_rest(struct ring_consumer *consumer)
{
    uint64_t position = ring_consumer_position(consumer);
    uint64_t offset = position & (consumer->bytes - 1);
    uint64_t to_end = consumer->bytes - offset;

    if (offset == 0 || to_end > consumer->positions.complete - position) {
        fail_consumer(consumer, CHANNEL_ERROR_LENGTH, CHANNEL_SKIP);
        return false;
    }
    move_consumer(consumer, position + to_end);
    return true;
}

/* Finds complete messages at the position, and empties the span. Returns false if there are none,
 * or after an error. */
static bool find_messages(struct ring_consumer *consumer)
{
    uint64_t position = ring_consumer_position(consumer);

    if (position == consumer->positions.complete &&
        (!read_produced(consumer) || position == consumer->positions.complete)) {
        return false;
    }
    move_consumer(consumer, position);
    return true;
}

const uint8_t *ring_peek_slowly(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag)
{
    while (consumer->is_open && consumer->error.kind == CHANNEL_ERROR_NONE) {
        uint64_t available;
        uint64_t header;

        if (is_in_run(consumer)) {
            return peek_in_run(consumer, length, tag);
        }
        if (!find_messages(consumer)) {
            return NULL;
        }
        /* Bytes that a message or a run may have here: half the ring at most, as
         * channel_content_max() says. */
        available = smaller(complete_bytes(consumer), consumer->bytes / 2);
        header = word_load(channel_constant_word(consumer->span.next));
        switch (ring_classify_header(header, 0, available)) {
        case RING_HEADER_MESSAGE:
            return begin_message(consumer, header, available, length, tag);
        case RING_HEADER_RUN:
            return begin_run(consumer, header, available, length, tag);
        case RING_HEADER_SKIP:
            if (!skip_rest(consumer)) {
                return NULL;
            }
            break;
        case RING_HEADER_INVALID:
            fail_consumer(consumer, CHANNEL_ERROR_LENGTH, header);
            return NULL;
        }
    }
    return NULL;
}

bool ring_producer_waits(struct ring_consumer *consumer)
{
    uint64_t position = ring_consumer_position(consumer);

    if (!consumer->is_open || position == consumer->positions.checked) {
        return false;
    }
    consumer->positions.checked = position;
    set_check(consumer, consumer->run.end != NULL
                            ? complete_bytes(consumer)
                            : (uint64_t)(consumer->span.end - consumer->span.next));
    /* See ring_consumer_waits(). */
    word_fence();
    return (word_load(consumer->waits) & CHANNEL_WAITS_FOR_SPACE) != 0;
}
