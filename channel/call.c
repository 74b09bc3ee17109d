/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/call.h"

void call_begin(struct call_client *client, struct channel *channel)
{
    *client = (struct call_client){.channel = channel};
}

/* Returns the tag of a request that is sent now. The counter goes on from life to life, and each
 * request adds to it. */
static uint32_t next_tag(const struct channel *channel)
{
    const struct channel_control *own = channel->memory.own;

    return CALL_TAG | (uint32_t)word_load(&own->sent);
}

/* Notes that the message with this tag, which is sent now, is the request to wait for. */
static void begin_call(struct call_client *client, uint32_t tag)
{
    client->generation = client->channel->generation;
    client->peer = client->channel->peer;
    client->tag = tag;
}

uint8_t *call_request_begin(struct call_client *client, uint64_t length)
{
    return channel_send_begin(client->channel, length);
}

void call_request_end(struct call_client *client, uint64_t length)
{
    begin_call(client, next_tag(client->channel));
    channel_send_end(client->channel, length, client->tag);
}

/* Sends a copy of a message. Waits for space until the deadline. */
static enum channel_result send_copy(struct channel *channel, const struct channel_sleeper *sleeper,
                                     uint64_t deadline, const void *content, uint64_t length,
                                     uint32_t tag)
{
    enum channel_result result = channel_send(channel, content, length, tag);

    while (result == CHANNEL_NOTHING) {
        struct channel_wait wait = channel_wait_for_space(channel, length);

        if (channel_wait_any(&wait, 1, sleeper, deadline) != 0) {
            return CHANNEL_NOTHING;
        }
        result = channel_send(channel, content, length, tag);
    }
    return result;
}

enum channel_result call_request(struct call_client *client, const struct channel_sleeper *sleeper,
                                 uint64_t deadline, const void *content, uint64_t length)
{
    uint32_t tag = next_tag(client->channel);
    enum channel_result result =
        send_copy(client->channel, sleeper, deadline, content, length, tag);

    if (result == CHANNEL_DONE) {
        begin_call(client, tag);
    }
    return result;
}

static bool is_connected(const struct call_client *client)
{
    const struct channel *channel = client->channel;

    return channel->generation == client->generation && channel->peer == client->peer &&
           (channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_ENDING);
}

/* Returns the response in place. Drops other messages. NULL if there is no further message, or the
 * deadline passed. */
static const uint8_t *find_response(struct call_client *client,
                                    const struct channel_sleeper *sleeper, uint64_t deadline,
                                    uint64_t *length)
{
    do {
        uint32_t tag;
        const uint8_t *content = channel_receive_begin(client->channel, length, &tag);

        if (content == NULL || tag == client->tag) {
            return content;
        }
        channel_receive_end(client->channel);
        client->dropped++;
    } while (!sleeper->has_passed(sleeper->context, deadline));
    return NULL;
}

enum call_result call_wait(struct call_client *client, const struct channel_sleeper *sleeper,
                           uint64_t deadline, const uint8_t **content, uint64_t *length)
{
    /* A message of another life is left to whoever receives it. */
    while (is_connected(client)) {
        struct channel_wait wait;

        *content = find_response(client, sleeper, deadline, length);
        if (*content != NULL) {
            return CALL_ANSWERED;
        }
        if (!is_connected(client)) {
            break;
        }
        wait = channel_wait_for_message(client->channel);
        if (sleeper->has_passed(sleeper->context, deadline) ||
            channel_wait_any(&wait, 1, sleeper, deadline) != 0) {
            return CALL_TIMED_OUT;
        }
    }
    return CALL_NOT_CONNECTED;
}

void call_end(struct call_client *client)
{
    channel_receive_end(client->channel);
}

enum channel_result call_answer(struct channel *channel, const struct channel_sleeper *sleeper,
                                uint64_t deadline, const void *content, uint64_t length,
                                uint32_t tag)
{
    return send_copy(channel, sleeper, deadline, content, length, tag);
}
