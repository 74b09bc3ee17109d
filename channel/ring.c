/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/ring.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Without space, and without messages, the inline functions leave everything to those below, which
 * do nothing after an error. */
static void fail_producer(struct ring_producer *producer, enum channel_error_kind kind,
                          uint64_t value)
{
    producer->error = (struct channel_error){kind, value, ring_producer_position(producer)};
    producer->end = producer->next;
    word_store(producer->errors, word_load(producer->errors) + 1);
}

static void fail_consumer(struct ring_consumer *consumer, enum channel_error_kind kind,
                          uint64_t value)
{
    consumer->error = (struct channel_error){kind, value, ring_consumer_position(consumer)};
    consumer->end = consumer->next;
    word_store(consumer->errors, word_load(consumer->errors) + 1);
}

/* Goes to a position. Nothing is known to be free there. */
static void move_producer(struct ring_producer *producer, uint64_t position)
{
    producer->next = producer->ring + (position & (producer->bytes - 1));
    producer->end = producer->next;
    producer->shift = position - (uintptr_t)producer->next;
}

/* Goes to a position. No message is known to be complete there. */
static void move_consumer(struct ring_consumer *consumer, uint64_t position)
{
    consumer->next = consumer->ring + (position & (consumer->bytes - 1));
    consumer->end = consumer->next;
    consumer->after = consumer->next;
    consumer->check = consumer->next;
    consumer->shift = position - (uintptr_t)consumer->next;
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
        .start = position,
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
        .limit = position,
        .checked = position,
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
    consumer->end = consumer->next;
    consumer->is_open = false;
}

/* Reads how far the consumer is. Returns false if its index is invalid. */
static bool read_consumed(struct ring_producer *producer)
{
    /* Acquire: the consumer has read the content of what it released. */
    uint64_t consumed = word_load_acquire(producer->consumed);
    uint64_t position = ring_producer_position(producer);
    uint64_t last_seen = producer->limit - producer->bytes;

    /* The index is still one of an earlier consumer, which did not read all messages. */
    if (consumed < producer->start) {
        return true;
    }
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

/* Reads how far the producer is. Returns false if its index is invalid. */
static bool read_produced(struct ring_consumer *consumer)
{
    /* Acquire: the messages before the index are complete. */
    uint64_t produced = word_load_acquire(consumer->produced);
    uint64_t position = ring_consumer_position(consumer);

    if (produced - position > consumer->bytes || produced % CHANNEL_ALIGNMENT != 0 ||
        produced - position < consumer->limit - position) {
        fail_consumer(consumer, CHANNEL_ERROR_PRODUCED, produced);
        return false;
    }
    consumer->limit = produced;
    return true;
}

/* Sets the ends of the complete messages at the position: at the end of the ring, too. */
static void set_consumer_ends(struct ring_consumer *consumer, uint64_t available)
{
    uint64_t since_check = ring_consumer_position(consumer) - consumer->checked;
    uint64_t quarter = consumer->bytes / 4;

    consumer->end = consumer->next + available;
    consumer->check =
        consumer->next + smaller(available, since_check < quarter ? quarter - since_check : 0);
}

/* Sets the ends in a run, where each message is a case for ring_peek_slowly(). */
static void set_run_ends(struct ring_consumer *consumer)
{
    uint64_t to_end = (uint64_t)(consumer->ring + consumer->bytes - consumer->next);
    uint64_t complete = consumer->limit - ring_consumer_position(consumer);

    set_consumer_ends(consumer, smaller(complete, to_end));
    consumer->end = consumer->next;
}

/* Returns the next message of a run. */
static const uint8_t *peek_in_run(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag)
{
    *length = consumer->run_header & CHANNEL_RUN_LENGTH_MAX;
    *tag = (uint32_t)(consumer->run_header >> 32);
    consumer->after = consumer->next + ring_run_step(*length);
    return consumer->next;
}

/* Checks the header of the run at the position, of which `available` bytes are complete, and
 * returns its first message. NULL if the header is not that of a valid run. */
static const uint8_t *begin_run(struct ring_consumer *consumer, uint64_t header, uint64_t available,
                                uint64_t *length, uint32_t *tag)
{
    uint64_t count = (header & (CHANNEL_RUN - 1)) >> CHANNEL_RUN_COUNT_SHIFT;
    uint64_t contents = count * ring_run_step(header & CHANNEL_RUN_LENGTH_MAX);

    if ((header & CHANNEL_RUN) == 0 || contents == 0 || count > CHANNEL_RUN_COUNT_MAX ||
        contents > channel_content_max(consumer->bytes) || ring_size(contents) > available) {
        fail_consumer(consumer, CHANNEL_ERROR_LENGTH, header);
        return NULL;
    }
    consumer->next += sizeof(struct channel_message);
    consumer->run_end = consumer->next + contents;
    consumer->run_header = header;
    set_run_ends(consumer);
    return peek_in_run(consumer, length, tag);
}

/* Checks the header of the message at the position, of which `available` bytes are complete. */
static const uint8_t *peek_message(struct ring_consumer *consumer, uint64_t header,
                                   uint64_t available, uint64_t *length, uint32_t *tag)
{
    *length = header & UINT32_MAX;
    *tag = (uint32_t)(header >> 32);
    if (*length > channel_content_max(consumer->bytes) || ring_size(*length) > available) {
        return begin_run(consumer, header, available, length, tag);
    }
    set_consumer_ends(consumer, available);
    consumer->after = consumer->next + ring_size(*length);
    return consumer->next + sizeof(struct channel_message);
}

/* Returns true in a run that has more messages. */
static bool is_in_run(struct ring_consumer *consumer)
{
    if (consumer->run_end == consumer->next) {
        consumer->run_end = NULL;
    }
    return consumer->run_end != NULL;
}

/* Handles an empty ring, a ring's end, a run, and a header that is invalid. */
const uint8_t *ring_peek_slowly(struct ring_consumer *consumer, uint64_t *length, uint32_t *tag)
{
    while (consumer->is_open && consumer->error.kind == CHANNEL_ERROR_NONE) {
        uint64_t position = ring_consumer_position(consumer);
        uint64_t offset = position & (consumer->bytes - 1);
        uint64_t to_end = consumer->bytes - offset;
        uint64_t header;

        if (is_in_run(consumer)) {
            return peek_in_run(consumer, length, tag);
        }
        if (position == consumer->limit &&
            (!read_produced(consumer) || position == consumer->limit)) {
            return NULL;
        }
        move_consumer(consumer, position);
        header = word_load(channel_constant_word(consumer->next));
        /* Every message fits at the start of the ring, so a second skip in a row is invalid. */
        if (header != CHANNEL_SKIP || offset == 0 || to_end > consumer->limit - position) {
            return peek_message(consumer, header, smaller(consumer->limit - position, to_end),
                                length, tag);
        }
        move_consumer(consumer, position + to_end);
    }
    return NULL;
}

bool ring_producer_waits(struct ring_consumer *consumer)
{
    uint64_t position = ring_consumer_position(consumer);

    if (!consumer->is_open || position == consumer->checked) {
        return false;
    }
    consumer->checked = position;
    if (consumer->run_end != NULL) {
        set_run_ends(consumer);
    } else {
        set_consumer_ends(consumer, (uint64_t)(consumer->end - consumer->next));
    }
    /* See ring_consumer_waits(). */
    word_fence();
    return (word_load(consumer->waits) & CHANNEL_WAITS_FOR_SPACE) != 0;
}
