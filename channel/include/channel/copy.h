/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that are copied: simpler than in place, and a malicious peer can't change what was
 * received. */
#ifndef CHANNEL_COPY_H
#define CHANNEL_COPY_H

#include "channel/connection.h"

enum channel_result {
    CHANNEL_DONE,
    CHANNEL_NOTHING,       /* no message, or no space: wait and try again */
    CHANNEL_TOO_LARGE,     /* for the ring, or for the buffer; the message stays in the ring */
    CHANNEL_NOT_CONNECTED, /* the channel's state tells why */
};

/* Sends a copy of `length` bytes. */
enum channel_result channel_send(struct channel *channel, const void *content, uint64_t length,
                                 uint32_t tag);

/* Receives a copy of the oldest message. `length` is written with CHANNEL_DONE and
 * CHANNEL_TOO_LARGE, `tag` with the first. */
enum channel_result channel_receive(struct channel *channel, void *buffer, uint64_t size,
                                    uint64_t *length, uint32_t *tag);

#endif
