/* SPDX-License-Identifier: BSD-2-Clause */
#include "side.h"

#include "kernel/panic.h"
#include "kernel/print.h"
#include <channel/copy.h>
#include <string.h>

void side_open(struct side *side, const char *name, struct partition_waiter *waiter)
{
    enum result result = partition_channel_open(&side->place, name);

    if (result == RESULT_OK) {
        result = partition_waiter_add(waiter, &side->place);
    }
    if (result == RESULT_OK) {
        result = partition_channel_begin(&side->place, &side->channel);
    }
    if (result != RESULT_OK) {
        panic("channel %s: %s", name, result_text(result));
    }
}

bool side_is_connected(struct side *side)
{
    struct channel *channel = &side->channel;

    if (channel->state == CHANNEL_FAILED) {
        print("channel %s: %s\n", side->place.name, channel_error_text(channel->error.kind));
        channel_reset(channel);
    }
    channel_accept(channel);
    return channel_update(channel) == CHANNEL_CONNECTED;
}

bool side_receive(struct side *side, void *content, uint64_t size, uint64_t *length, uint32_t *tag)
{
    const uint8_t *place = channel_receive_begin(&side->channel, length, tag);

    if (place == NULL) {
        return false;
    }
    memcpy(content, place, (size_t)(*length < size ? *length : size));
    channel_receive_end(&side->channel);
    return true;
}

bool side_send(struct side *side, const void *content, uint64_t length, uint32_t tag)
{
    return channel_send(&side->channel, content, length, tag) == CHANNEL_DONE;
}
