/* SPDX-License-Identifier: BSD-2-Clause */
/* cat: standard input to the channel, the channel to standard output. */
#include "command.h"

#include "channel/copy.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536u

struct streams {
    struct linux_endpoint *endpoint;
    const struct options *options;
    uint64_t deadline; /* at which the wait for the next message, either way, has lasted too long */
    uint8_t block[BLOCK_BYTES];
    uint64_t block_max;
    bool has_sent_end;
    bool has_received_end;
};

static bool write_all(const uint8_t *content, uint64_t length)
{
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, content, (size_t)length);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            content += written;
            length -= (uint64_t)written;
        }
    }
    return true;
}

/* Writes all messages that are there to standard output. */
static int receive_stream(struct streams *streams)
{
    struct channel *channel = linux_channel(streams->endpoint);
    const uint8_t *content;
    uint64_t length;
    uint32_t tag;

    while ((content = channel_receive_begin(channel, &length, &tag)) != NULL) {
        streams->has_received_end |= tag == TAG_END_OF_STREAM;
        if (!write_all(content, length)) {
            return command_fail("standard output can't be written: %s", strerror(errno));
        }
        channel_receive_end(channel);
        streams->deadline = command_deadline(streams->options);
    }
    return STATUS_DONE;
}

/* Sends one block of standard input, if there is space for the largest one. */
static int send_block(struct streams *streams)
{
    struct channel *channel = linux_channel(streams->endpoint);
    ssize_t bytes;

    if (channel_send_begin(channel, streams->block_max) == NULL) {
        return STATUS_DONE;
    }
    bytes = read(STDIN_FILENO, streams->block, streams->block_max);
    if (bytes < 0) {
        return errno == EINTR ? STATUS_DONE
                              : command_fail("standard input can't be read: %s", strerror(errno));
    }
    streams->has_sent_end = bytes == 0;
    channel_send(channel, streams->block, (uint64_t)bytes,
                 bytes == 0 ? TAG_END_OF_STREAM : TAG_MESSAGE);
    streams->deadline = command_deadline(streams->options);
    return STATUS_DONE;
}

/* Sleeps until a message arrives, or standard input can be sent. Returns false if the deadline
 * passed. */
static bool wait_for_work(struct streams *streams)
{
    struct channel *channel = linux_channel(streams->endpoint);
    bool has_space =
        !streams->has_sent_end && channel_send_begin(channel, streams->block_max) != NULL;
    struct linux_endpoint *const endpoints[] = {
        streams->endpoint,
        has_space ? NULL : streams->endpoint,
    };
    const struct channel_wait waits[] = {
        channel_wait_for_message(channel),
        has_space ? linux_wait_for_input(STDIN_FILENO)
                  : channel_wait_for_space(channel, streams->block_max),
    };
    size_t count = streams->has_sent_end ? 1 : 2;

    return linux_wait_any(endpoints, waits, count, streams->deadline) < count;
}

static int take_turn(struct streams *streams)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int status = receive_stream(streams);

    if (status == STATUS_DONE && !streams->has_sent_end && poll(&input, 1, 0) > 0) {
        status = send_block(streams);
    }
    return status;
}

int exchange_streams(struct linux_endpoint *endpoint, const struct options *options)
{
    static struct streams streams;
    int status = command_connect(endpoint, options, command_deadline(options));

    streams.endpoint = endpoint;
    streams.options = options;
    streams.deadline = command_deadline(options);
    streams.block_max = channel_content_max(linux_endpoint_ring_bytes(endpoint)) / 4;
    streams.block_max = streams.block_max < BLOCK_BYTES ? streams.block_max : BLOCK_BYTES;
    while (status == STATUS_DONE) {
        status = take_turn(&streams);
        if (status != STATUS_DONE || (streams.has_sent_end && streams.has_received_end)) {
            break;
        }
        if (linux_channel(endpoint)->state != CHANNEL_CONNECTED) {
            /* The other side ends after it has sent its end of the stream. */
            return streams.has_received_end ? STATUS_DONE
                                            : command_fail_ended(linux_channel(endpoint));
        }
        if (!wait_for_work(&streams)) {
            return command_fail_ended(linux_channel(endpoint));
        }
    }
    return status;
}
