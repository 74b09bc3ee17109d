/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A one-way channel of messages. The receiver can write nothing, so the sender does not know how
 * far it has read, and overwrites the oldest messages. A receiver that is too slow loses messages,
 * and knows how many. Any number of receivers may read the same section.
 *
 * The sender marks bytes as overwritten before it changes them. The receiver copies a message, and
 * then checks whether its bytes were marked meanwhile.
 */
#ifndef CHANNEL_BROADCAST_H
#define CHANNEL_BROADCAST_H

#include "channel/error.h"
#include "channel/format.h"
#include "channel/linkage.h"
#include "channel/words.h"
#include <stdbool.h>
#include <stddef.h>

CHANNEL_C_BEGIN

/* A message of a broadcast; its content follows. It differs from struct channel_message by its
 * number. */
struct broadcast_message {
    uint64_t header;
    uint64_t number; /* number of the message, from 1 */
};

/* The sender of a one-way channel. */
struct broadcast_sender {
    uint8_t *ring;
    uint64_t bytes;
    uint64_t position;
    uint64_t number; /* number of the newest message */
    struct channel_control *own;
};

struct broadcast_receiver {
    const uint8_t *ring;
    uint64_t bytes;
    uint64_t position; /* position of the next message */
    uint64_t number;   /* number of the message that was received last */
    /* Number of messages after the first received one that were overwritten before they were
     * received. */
    uint64_t lost;
    const struct channel_control *peer;
    struct channel_error error;
};

enum broadcast_result {
    BROADCAST_RECEIVED,
    BROADCAST_NONE,      /* no message, or every attempt to copy it was overtaken by the sender */
    BROADCAST_TOO_LARGE, /* the buffer is too small for the message, which is not consumed */
    BROADCAST_FAILED,    /* the sender violated the format; the receiver's `error` describes how */
};

/* Returns the number of bytes of the largest message. */
static inline uint64_t broadcast_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 2 - sizeof(struct broadcast_message);
}

/* Begins a life of the sender. It continues after the messages of earlier lives. `section`: of the
 * sender. Returns false if the ring's size is invalid. */
bool broadcast_sender_begin(struct broadcast_sender *sender, void *section, uint64_t ring_bytes);

/* Begins to receive with the next message that is sent, or with the newest one if `with_newest` is
 * true. `section`: of the sender. Returns false if the ring's size is invalid. */
bool broadcast_receiver_begin(struct broadcast_receiver *receiver, const void *section,
                              uint64_t ring_bytes, bool with_newest);

/* Returns the place for a message of up to `length` bytes, aligned to 8 bytes. Returns NULL if the
 * length exceeds broadcast_content_max(). */
uint8_t *broadcast_send_begin(struct broadcast_sender *sender, uint64_t length);

/* Sends the message: `length` bytes of the place that broadcast_send_begin() returned, and a tag
 * for the receivers. */
void broadcast_send_end(struct broadcast_sender *sender, uint64_t length, uint32_t tag);

/* Copies the next message to `buffer`, of `size` bytes and aligned to 8 bytes. Sets *length with
 * BROADCAST_RECEIVED and BROADCAST_TOO_LARGE, and *tag with BROADCAST_RECEIVED. A buffer of the
 * size of the largest message, rounded up to 8 bytes, is never too small. */
enum broadcast_result broadcast_receive(struct broadcast_receiver *receiver, void *buffer,
                                        uint64_t size, uint64_t *length, uint32_t *tag);

/* Returns true if there are messages after the last one that was received. */
static inline bool broadcast_is_new(const struct broadcast_receiver *receiver)
{
    return word_load(&receiver->peer->produced) != receiver->position;
}

/* Skips to the newest message. Messages before it count as lost. Skips to the next message if the
 * sender has begun to overwrite the newest one. No effect if all messages were received. */
void broadcast_skip_to_newest(struct broadcast_receiver *receiver);

CHANNEL_C_END

#endif
