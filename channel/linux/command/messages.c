/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that send and receive messages. */
#include "command.h"

#include "channel/copy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int command_fail_format(const struct channel_error *error)
{
    return command_fail("%s (value %#llx at position %llu): start both sides again",
                        channel_error_text(error->kind), (unsigned long long)error->value,
                        (unsigned long long)error->position);
}

int command_fail_ended(const struct channel *channel)
{
    if (channel->state == CHANNEL_FAILED) {
        return command_fail_format(&channel->error);
    }
    command_fail(channel->state == CHANNEL_CONNECTED
                     ? "the time passed, and the other side does not answer"
                     : "the other side ended");
    return STATUS_TIMEOUT;
}

int command_connect(struct linux_endpoint *endpoint, const struct options *options,
                    uint64_t deadline)
{
    struct channel *channel = linux_channel(endpoint);

    channel_accept(channel);
    while (channel_update(channel) == CHANNEL_CONNECTING) {
        if (!linux_wait_for_message(endpoint, deadline)) {
            command_fail("nobody uses the other side of %s", options->channel);
            return STATUS_TIMEOUT;
        }
    }
    /* The peer has not noticed a side that ends before there is space. */
    while (channel->state == CHANNEL_CONNECTED && channel_send_begin(channel, 0) == NULL) {
        if (!linux_wait_for_space(endpoint, 0, deadline)) {
            command_fail("the other side of %s does not answer", options->channel);
            return STATUS_TIMEOUT;
        }
    }
    return channel->state == CHANNEL_FAILED ? command_fail_format(&channel->error) : STATUS_DONE;
}

int command_check_sent(struct linux_endpoint *endpoint, uint64_t length, enum channel_result result)
{
    switch (result) {
    case CHANNEL_DONE:
        return STATUS_DONE;
    case CHANNEL_TOO_LARGE:
        return command_fail(
            "a message of %llu bytes is larger than this channel's largest, %llu",
            (unsigned long long)length,
            (unsigned long long)channel_content_max(linux_endpoint_ring_bytes(endpoint)));
    case CHANNEL_NOTHING:
        command_fail("the time passed, and the other side receives nothing");
        return STATUS_TIMEOUT;
    default:
        return command_fail_ended(linux_channel(endpoint));
    }
}

int command_send(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                 uint32_t tag, uint64_t deadline)
{
    struct channel *channel = linux_channel(endpoint);
    enum channel_result result = channel_send(channel, content, length, tag);

    while (result == CHANNEL_NOTHING && linux_wait_for_space(endpoint, length, deadline)) {
        result = channel_send(channel, content, length, tag);
    }
    return command_check_sent(endpoint, length, result);
}

const uint8_t *command_receive(struct linux_endpoint *endpoint, uint64_t *length, uint32_t *tag,
                               uint64_t deadline, int *status)
{
    struct channel *channel = linux_channel(endpoint);
    const uint8_t *content = channel_receive_begin(channel, length, tag);

    while (content == NULL &&
           (channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_ENDING)) {
        if (!linux_wait_for_message(endpoint, deadline)) {
            break;
        }
        content = channel_receive_begin(channel, length, tag);
    }
    *status = content != NULL                    ? STATUS_DONE
              : channel->state == CHANNEL_FAILED ? command_fail_format(&channel->error)
                                                 : STATUS_TIMEOUT;
    return content;
}

/* Sends each message of standard input. */
static int send_standard_input(struct linux_endpoint *endpoint, const struct options *options,
                               command_send_one *send_one)
{
    struct input input = {0};
    bool has_message = true;
    uint64_t sent = 0;
    int status = STATUS_DONE;

    while (status == STATUS_DONE && (options->count == 0 || sent < options->count)) {
        status = framing_read(&input, &has_message);
        if (status != STATUS_DONE || !has_message) {
            break;
        }
        status = send_one(endpoint, input.content, input.length, command_deadline(options));
        sent++;
    }
    free(input.content);
    return status;
}

int command_send_input(struct linux_endpoint *endpoint, const struct options *options,
                       command_send_one *send_one)
{
    int status = STATUS_DONE;

    if (options->words[0] == NULL) {
        return send_standard_input(endpoint, options, send_one);
    }
    for (char **word = options->words; *word != NULL && status == STATUS_DONE; word++) {
        status = send_one(endpoint, *word, strlen(*word), command_deadline(options));
    }
    return status;
}

static int send_message(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                        uint64_t deadline)
{
    return command_send(endpoint, content, length, TAG_MESSAGE, deadline);
}

int send_messages(struct linux_endpoint *endpoint, const struct options *options)
{
    int status = command_connect(endpoint, options, command_deadline(options));

    return status == STATUS_DONE ? command_send_input(endpoint, options, send_message) : status;
}

int command_receive_each(struct linux_endpoint *endpoint, const struct options *options,
                         command_receive_one *receive_one)
{
    struct channel *channel = linux_channel(endpoint);
    uint64_t received = 0;
    int status = STATUS_DONE;

    while (status == STATUS_DONE && (options->count == 0 || received < options->count)) {
        const uint8_t *content;
        uint64_t length;
        uint32_t tag;

        if (channel->state != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING) {
            status = command_connect(endpoint, options, command_deadline(options));
            if (status != STATUS_DONE) {
                return status;
            }
        }
        content = command_receive(endpoint, &length, &tag, command_deadline(options), &status);
        if (content != NULL) {
            status = receive_one(endpoint, options, content, length, tag);
            channel_receive_end(channel);
            received++;
        } else if (channel->state == CHANNEL_ENDED && options->keeps) {
            status = STATUS_DONE;
        } else if (channel->state == CHANNEL_ENDED && options->count == 0) {
            return STATUS_DONE;
        }
    }
    return status;
}

static int print_message(struct linux_endpoint *endpoint, const struct options *options,
                         const uint8_t *content, uint64_t length, uint32_t tag)
{
    (void)endpoint;
    (void)options;
    (void)tag;
    return framing_write(content, length);
}

int receive_messages(struct linux_endpoint *endpoint, const struct options *options)
{
    return command_receive_each(endpoint, options, print_message);
}
