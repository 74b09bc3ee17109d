/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A one-way channel: the receiver can write nothing, so the sender does not know how far it has
 * read, and overwrites the oldest messages. A receiver that is too slow loses messages, and knows
 * how many. Any number of receivers may read the same section.
 *
 * The sender marks bytes as overwritten before it changes them. The receiver copies a message, and
 * then looks whether it was marked meanwhile.
 */
#ifndef CHANNEL_BROADCAST_H
#define CHANNEL_BROADCAST_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>

/* A message of a broadcast. Otherwise as struct channel_message. */
struct broadcast_message {
    uint64_t header;
    uint64_t number; /* from 1 on */
    uint64_t content[];
};

struct broadcast_sender {
    uint8_t *ring;
    uint64_t bytes;
    uint64_t position;
    uint64_t number; /* of the newest message */
    struct channel_control *own;
};

struct broadcast_receiver {
    const uint8_t *ring;
    uint64_t bytes;
    uint64_t position; /* of the next message */
    uint64_t number;   /* of the message that was received last */
    uint64_t lost;     /* messages after the first received one that were overwritten before */
    const struct channel_control *peer;
    struct channel_error error;
};

enum broadcast_result {
    BROADCAST_RECEIVED,
    BROADCAST_NONE,      /* there is no message, or none that was not overwritten meanwhile */
    BROADCAST_TOO_LARGE, /* the buffer is too small for the message, which is left in place */
    BROADCAST_FAILED,    /* the sender violated the format: `error` */
};

/* The largest message. */
static inline uint64_t broadcast_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 2 - sizeof(struct broadcast_message);
}

/* Goes on after the messages of an earlier life. Returns false if the ring's size is invalid. */
bool broadcast_sender_begin(struct broadcast_sender *sender, void *section, uint64_t ring_bytes);

/* Begins with the next message that is sent; with the newest one if `with_newest` is true. Returns
 * false if the ring's size is invalid. */
bool broadcast_receiver_begin(struct broadcast_receiver *receiver, const void *section,
                              uint64_t ring_bytes, bool with_newest);

/* Returns the place for a message of up to `length` bytes, aligned to 8 bytes. NULL if it exceeds
 * broadcast_content_max(). */
uint8_t *broadcast_send_begin(struct broadcast_sender *sender, uint64_t length);

/* Sends the message: `length` bytes of the place, and a tag for the receivers. */
void broadcast_send_end(struct broadcast_sender *sender, uint64_t length, uint32_t tag);

/* Copies the next message to `buffer`, of `size` bytes and aligned to 8 bytes. `length` is written
 * with BROADCAST_RECEIVED and BROADCAST_TOO_LARGE, `tag` with the first. A buffer of the size of
 * the largest message, rounded up to 8 bytes, is never too small. */
enum broadcast_result broadcast_receive(struct broadcast_receiver *receiver, void *buffer,
                                        uint64_t size, uint64_t *length, uint32_t *tag);

/* Returns true if there are messages after the last one that was received. */
static inline bool broadcast_is_new(const struct broadcast_receiver *receiver)
{
    return word_load(&receiver->peer->produced) != receiver->position;
}

/* Goes on with the newest message, and counts those before it as lost; with the next message if the
 * sender begins to overwrite the newest one. No effect if all were received. */
void broadcast_skip_to_newest(struct broadcast_receiver *receiver);

#endif
