/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/copy.h"

#include <string.h>

static enum channel_result without_result(const struct channel *channel)
{
    return channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_ENDING
               ? CHANNEL_NOTHING
               : CHANNEL_NOT_CONNECTED;
}

enum channel_result channel_send(struct channel *channel, const void *content, uint64_t length,
                                 uint32_t tag)
{
    uint8_t *place;

    if (length > channel_content_max(channel->memory.ring_bytes)) {
        return CHANNEL_TOO_LARGE;
    }
    place = channel_send_begin(channel, length);
    if (place == NULL) {
        return channel->state == CHANNEL_CONNECTED ? CHANNEL_NOTHING : CHANNEL_NOT_CONNECTED;
    }
    memcpy(place, content, (size_t)length);
    channel_send_end(channel, length, tag);
    return CHANNEL_DONE;
}

enum channel_result channel_receive(struct channel *channel, void *buffer, uint64_t size,
                                    uint64_t *length, uint32_t *tag)
{
    const uint8_t *content = channel_receive_begin(channel, length, tag);

    if (content == NULL) {
        return without_result(channel);
    }
    if (*length > size) {
        return CHANNEL_TOO_LARGE;
    }
    memcpy(buffer, content, (size_t)*length);
    channel_receive_end(channel);
    return CHANNEL_DONE;
}
