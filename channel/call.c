/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/call.h"

void call_begin(struct call_client *client, struct channel *channel)
{
    *client = (struct call_client){.channel = channel};
}

uint8_t *call_request_begin(struct call_client *client, uint64_t length)
{
    return channel_send_begin(client->channel, length);
}

void call_request_end(struct call_client *client, uint64_t length)
{
    client->number++;
    channel_send_end(client->channel, length, client->number);
}

enum call_result call_wait(struct call_client *client, const struct channel_sleeper *sleeper,
                           uint64_t deadline, const uint8_t **content, uint64_t *length)
{
    struct channel *channel = client->channel;
    bool has_time = true;

    for (;;) {
        uint32_t tag;
        struct channel_wait wait;

        *content = channel_receive_begin(channel, length, &tag);
        if (*content != NULL) {
            if (client->answered == client->number) {
                return CALL_VIOLATED;
            }
            client->answered++;
            if (tag == client->number) {
                return CALL_ANSWERED;
            }
            channel_receive_end(channel);
            continue;
        }
        if (channel->state != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING) {
            return CALL_NOT_CONNECTED;
        }
        if (!has_time) {
            return CALL_TIMED_OUT;
        }
        wait = channel_wait_for_message(channel);
        has_time = channel_wait_any(&wait, 1, sleeper, deadline) == 0;
    }
}

void call_end(struct call_client *client)
{
    channel_receive_end(client->channel);
}
