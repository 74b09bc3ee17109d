/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring has the bytes from `overwritten` up to `overwritten` + its size. In the order of
 * positions, while the sender writes a message:
 *
 *     | may be changed | complete messages              | being written         |
 *     +----------------+---------+---------+------------+-----------------------+
 *     |                | message | message | newest     | message               |
 *     +----------------+---------+---------+------------+-----------------------+
 *                      ^                   ^            ^                       ^
 *                      overwritten         last         produced    overwritten + ring size
 *
 * A message is contiguous: if it does not fit before the end of the ring, the header CHANNEL_SKIP
 * marks the rest as unused.
 *
 * A send stores, in this order (tests end a life after each, test_ended_lives.c):
 *
 *     overwritten   the bytes of the unused rest, if there is one
 *     CHANNEL_SKIP  in that rest
 *     overwritten   the bytes of the message
 *     content, header and number of the message
 *     produced      the message is sent
 *     last          receivers may begin with it
 *     sent          the count that observers read
 *
 * The next life goes on at `produced`. If the last one ended after `produced` and before `last`,
 * recover() completes the send.
 */
#include "channel/broadcast.h"

/* Attempts to copy a message before the next one overwrites it. */
#define ATTEMPTS_MAX 4u

static bool is_valid(uint64_t ring_bytes)
{
    return ring_bytes >= CHANNEL_RING_MIN && ring_bytes <= CHANNEL_RING_MAX &&
           (ring_bytes & (ring_bytes - 1)) == 0;
}

static uint64_t size_of(uint64_t length)
{
    return (sizeof(struct broadcast_message) + length + CHANNEL_ALIGNMENT - 1) &
           ~(CHANNEL_ALIGNMENT - 1);
}

/* Returns the message at a position, or at the multiple of 8 bytes before it. Its header is within
 * the ring. */
static const struct broadcast_message *message_at(const uint8_t *ring, uint64_t bytes,
                                                  uint64_t position)
{
    return (const void *)(ring + (position & (bytes - CHANNEL_ALIGNMENT)));
}

/* Returns the next position at which a ring starts. */
static uint64_t next_start(uint64_t position, uint64_t bytes)
{
    return (position | (bytes - 1)) + 1;
}

/* Returns where the newest message begins. If the next message may overwrite it, returns where that
 * one begins, or `produced` while it is not published. */
static uint64_t find_newest(const struct channel_control *control, uint64_t bytes)
{
    /* Acquire: `last` is not older than the mark, see mark_overwritten(). */
    uint64_t overwritten = word_load_acquire(&control->overwritten);
    /* Acquire: the message that begins there is complete, and `produced` is after it. */
    uint64_t newest = word_load_acquire(&control->last);
    uint64_t produced = word_load(&control->produced);

    /* Only the next message marks bytes after `last`. No message is larger than half of the ring,
     * so it overlaps the newest one only if it begins at the start of the ring. */
    if (channel_is_after(overwritten, newest)) {
        newest = next_start(newest, bytes);
    }
    return channel_is_after(produced, newest) ? newest : produced;
}

static uint64_t header_at(const struct broadcast_sender *sender, uint64_t position)
{
    return word_load(&message_at(sender->ring, sender->bytes, position)->header);
}

/* Returns the number of a message. A malicious life may have left one whose header is the last word
 * of the ring: then returns the first word of the ring. */
static uint64_t number_at(const struct broadcast_sender *sender, uint64_t message)
{
    return header_at(sender, message + offsetof(struct broadcast_message, number));
}

/* Steps over the unused rest of the ring before a message. */
static uint64_t skip_unused(const struct broadcast_sender *sender, uint64_t position)
{
    bool is_unused = header_at(sender, position) == CHANNEL_SKIP;

    return is_unused ? next_start(position, sender->bytes) : position;
}

static uint64_t end_of(const struct broadcast_sender *sender, uint64_t message)
{
    return message + size_of(header_at(sender, message) & UINT32_MAX);
}

/* Finds the newest message of an earlier life, which may have ended after it stored `produced` and
 * before it stored `last` or `sent`. */
static void recover(struct broadcast_sender *sender)
{
    uint64_t newest = skip_unused(sender, find_newest(sender->own, sender->bytes));
    uint64_t end = end_of(sender, newest);

    if (channel_is_after(sender->position, end)) {
        newest = skip_unused(sender, end);
        end = end_of(sender, newest);
    }
    if (end == sender->position) {
        sender->number = number_at(sender, newest);
    } else {
        /* There is no message, or it is overwritten, or malicious. */
        newest = sender->position;
    }
    word_store(&sender->own->last, newest);
    word_store(&sender->own->sent, sender->number);
}

/* Replaces words that only a malicious life leaves: receivers then take all messages before the
 * position for overwritten. An honest life has marked all bytes that are not in the ring any more,
 * and none after the position. */
static void repair(struct channel_control *own, uint64_t position, uint64_t bytes)
{
    if (word_load(&own->produced) != position || position - word_load(&own->overwritten) > bytes) {
        word_store(&own->overwritten, position);
        word_store(&own->produced, position);
    }
}

bool broadcast_sender_begin(struct broadcast_sender *sender, void *section, uint64_t ring_bytes)
{
    struct channel_control *own = section;

    if (!is_valid(ring_bytes)) {
        return false;
    }
    *sender = (struct broadcast_sender){
        .ring = (uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = ring_bytes,
        .position = word_load(&own->produced) & CHANNEL_POSITION_BITS,
        .number = word_load(&own->sent),
        .own = own,
    };
    repair(own, sender->position, ring_bytes);
    recover(sender);
    word_store(&own->ring_bytes, ring_bytes);
    word_store(&own->format, CHANNEL_FORMAT_BROADCAST);
    return true;
}

/* Marks the bytes as overwritten that the ring had where those before `end` will be. */
static void mark_overwritten(struct broadcast_sender *sender, uint64_t end)
{
    if (channel_is_after(end - sender->bytes, word_load(&sender->own->overwritten))) {
        /* Release: a receiver that sees the mark also sees the message before as the last one. */
        word_store_release(&sender->own->overwritten, end - sender->bytes);
    }
    /* A receiver that sees one of the later stores to the ring also sees the mark. */
    word_fence_release();
}

uint8_t *broadcast_send_begin(struct broadcast_sender *sender, uint64_t length)
{
    uint64_t offset = sender->position & (sender->bytes - 1);
    uint64_t to_end = sender->bytes - offset;

    if (length > broadcast_content_max(sender->bytes)) {
        return NULL;
    }
    if (size_of(length) > to_end) {
        mark_overwritten(sender, sender->position + to_end);
        word_store(channel_word(sender->ring + offset), CHANNEL_SKIP);
        sender->position += to_end;
        offset = 0;
    }
    mark_overwritten(sender, sender->position + size_of(length));
    return sender->ring + offset + sizeof(struct broadcast_message);
}

void broadcast_send_end(struct broadcast_sender *sender, uint64_t length, uint32_t tag)
{
    uint64_t offset = sender->position & (sender->bytes - 1);
    struct broadcast_message *message = (void *)(sender->ring + offset);

    sender->number++;
    word_store(&message->header, (uint64_t)tag << 32 | length);
    word_store(&message->number, sender->number);
    /* Release: the message is complete. */
    word_store_release(&sender->own->produced, sender->position + size_of(length));
    /* Release: a receiver that goes to the newest message finds it complete, and finds no index
     * before it. */
    word_store_release(&sender->own->last, sender->position);
    sender->position += size_of(length);
    word_store(&sender->own->sent, sender->number);
}

static enum broadcast_result fail(struct broadcast_receiver *receiver, enum channel_error_kind kind,
                                  uint64_t value)
{
    receiver->error = (struct channel_error){kind, value, receiver->position};
    return BROADCAST_FAILED;
}

bool broadcast_receiver_begin(struct broadcast_receiver *receiver, const void *section,
                              uint64_t ring_bytes, bool with_newest)
{
    const struct channel_control *peer = section;

    *receiver = (struct broadcast_receiver){
        .ring = (const uint8_t *)section + CHANNEL_CONTROL_BYTES,
        .bytes = ring_bytes,
        .peer = peer,
    };
    receiver->position = with_newest ? find_newest(peer, ring_bytes) : word_load(&peer->produced);
    return is_valid(ring_bytes);
}

void broadcast_skip_to_newest(struct broadcast_receiver *receiver)
{
    uint64_t newest = find_newest(receiver->peer, receiver->bytes);

    if (channel_is_after(newest, receiver->position)) {
        receiver->position = newest;
    }
}

static bool is_overwritten(const struct broadcast_receiver *receiver)
{
    /* The loads of the message are complete before the mark is read. */
    word_fence_acquire();
    return channel_is_after(word_load(&receiver->peer->overwritten), receiver->position);
}

/* Copies `length` bytes, in whole words: memory that the sender may change meanwhile. */
static void copy(uint64_t *to, const uint64_t *from, uint64_t length)
{
    for (uint64_t i = 0; i < (length + 7) / 8; i++) {
        to[i] = word_load(&from[i]);
    }
}

/* Copies the message at the position. Returns BROADCAST_NONE if it was overwritten meanwhile. */
static enum broadcast_result receive_at(struct broadcast_receiver *receiver, void *buffer,
                                        uint64_t size, uint64_t *length, uint32_t *tag)
{
    uint64_t offset = receiver->position & (receiver->bytes - 1);
    const struct broadcast_message *message =
        message_at(receiver->ring, receiver->bytes, receiver->position);
    uint64_t header = word_load(&message->header);
    uint64_t number;

    *length = header & UINT32_MAX;
    if (*length > broadcast_content_max(receiver->bytes) ||
        size_of(*length) > receiver->bytes - offset) {
        return is_overwritten(receiver) ? BROADCAST_NONE
                                        : fail(receiver, CHANNEL_ERROR_LENGTH, header);
    }
    if (((*length + 7) & ~UINT64_C(7)) > size) {
        return is_overwritten(receiver) ? BROADCAST_NONE : BROADCAST_TOO_LARGE;
    }
    number = word_load(&message->number);
    copy(buffer, (const uint64_t *)(message + 1), *length);
    if (is_overwritten(receiver)) {
        return BROADCAST_NONE;
    }
    *tag = (uint32_t)(header >> 32);
    /* A malicious sender chooses the number, which is only counted with. */
    if (receiver->number != 0 && number > receiver->number) {
        receiver->lost += number - receiver->number - 1;
    }
    receiver->number = number;
    receiver->position += size_of(*length);
    return BROADCAST_RECEIVED;
}

/* Steps over the unused rest of the ring. */
static void skip_rest(struct broadcast_receiver *receiver)
{
    uint64_t offset = receiver->position & (receiver->bytes - 1);
    const struct broadcast_message *rest =
        message_at(receiver->ring, receiver->bytes, receiver->position);

    if (offset != 0 && word_load(&rest->header) == CHANNEL_SKIP && !is_overwritten(receiver)) {
        receiver->position += receiver->bytes - offset;
    }
}

enum broadcast_result broadcast_receive(struct broadcast_receiver *receiver, void *buffer,
                                        uint64_t size, uint64_t *length, uint32_t *tag)
{
    enum broadcast_result result = BROADCAST_NONE;

    for (unsigned i = 0; i < ATTEMPTS_MAX && result == BROADCAST_NONE; i++) {
        uint64_t format = word_load(&receiver->peer->format);
        /* The messages before it are complete: is_overwritten() has the acquire fence. */
        uint64_t produced = word_load(&receiver->peer->produced);

        if (receiver->error.kind != CHANNEL_ERROR_NONE) {
            return BROADCAST_FAILED;
        }
        if (format != 0 && format != CHANNEL_FORMAT_BROADCAST) {
            return fail(receiver, CHANNEL_ERROR_FORMAT, format);
        }
        if (is_overwritten(receiver)) {
            broadcast_skip_to_newest(receiver);
            produced = word_load(&receiver->peer->produced);
        }
        if (produced % CHANNEL_ALIGNMENT != 0 || receiver->position % CHANNEL_ALIGNMENT != 0 ||
            channel_is_after(receiver->position, produced)) {
            return fail(receiver, CHANNEL_ERROR_PRODUCED, produced);
        }
        if (produced == receiver->position) {
            return BROADCAST_NONE;
        }
        skip_rest(receiver);
        result = receive_at(receiver, buffer, size, length, tag);
    }
    return result;
}
