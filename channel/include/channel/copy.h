/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that are copied. Copies are simpler than messages in place, and a malicious peer can't
 * change a received copy. */
#ifndef CHANNEL_COPY_H
#define CHANNEL_COPY_H

#include "channel/connection.h"
#include "channel/linkage.h"

CHANNEL_C_BEGIN

enum channel_result {
    CHANNEL_DONE,
    CHANNEL_NOTHING,       /* there is no message, or no space: wait and try again */
    CHANNEL_TOO_LARGE,     /* too large for the ring or the buffer; the message stays in the ring */
    CHANNEL_NOT_CONNECTED, /* the channel's state says why */
};

/* Sends a copy of `length` bytes of `content`, with a tag for the receiver. */
enum channel_result channel_send(struct channel *channel, const void *content, uint64_t length,
                                 uint32_t tag);

/* Copies the oldest message to `buffer`, of `size` bytes. Sets *length with CHANNEL_DONE and
 * CHANNEL_TOO_LARGE, and *tag with CHANNEL_DONE. */
enum channel_result channel_receive(struct channel *channel, void *buffer, uint64_t size,
                                    uint64_t *length, uint32_t *tag);

CHANNEL_C_END

#endif
