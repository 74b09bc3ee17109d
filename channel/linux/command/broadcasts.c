/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for one-way channels. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

static int send_broadcast(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                          uint64_t deadline)
{
    struct broadcast_sender *sender = linux_broadcast_sender(endpoint);
    uint8_t *place = broadcast_send_begin(sender, length);

    (void)deadline; /* a sender never waits */
    if (place == NULL) {
        return command_fail(
            "a message of %llu bytes is larger than this channel's largest, %llu",
            (unsigned long long)length,
            (unsigned long long)broadcast_content_max(linux_endpoint_ring_bytes(endpoint)));
    }
    memcpy(place, content, (size_t)length);
    broadcast_send_end(sender, length, TAG_MESSAGE);
    linux_notify(endpoint);
    return STATUS_DONE;
}

int send_broadcasts(struct linux_endpoint *endpoint, const struct options *options)
{
    if (linux_endpoint_end(endpoint) != 0) {
        return command_fail("this is the end of %s that receives: it is a one-way channel",
                            options->channel);
    }
    return command_send_input(endpoint, options, send_broadcast);
}

/* Prints messages, and on standard error how many were overwritten before them. `buffer` has space
 * for the largest one. */
static int print_broadcasts(struct linux_endpoint *endpoint, const struct options *options,
                            uint8_t *buffer)
{
    struct broadcast_receiver *receiver = linux_broadcast_receiver(endpoint);
    uint64_t deadline = command_deadline(options);
    int status = STATUS_DONE;
    uint64_t received = 0;

    while (status == STATUS_DONE && (options->count == 0 || received < options->count)) {
        uint64_t lost = receiver->lost;
        uint64_t length;
        uint32_t tag;

        if (!linux_wait_for_broadcast(endpoint, deadline)) {
            return STATUS_TIMEOUT;
        }
        switch (broadcast_receive(receiver, buffer, linux_endpoint_ring_bytes(endpoint), &length,
                                  &tag)) {
        case BROADCAST_RECEIVED:
            if (receiver->lost != lost) {
                command_fail("missed %llu messages", (unsigned long long)(receiver->lost - lost));
            }
            status = framing_write(buffer, length);
            received++;
            deadline = command_deadline(options);
            break;
        case BROADCAST_FAILED:
            return command_fail_format(&receiver->error);
        default: /* overwritten meanwhile: the next one is there, or a sender pretends so */
            if (linux_now() >= deadline) {
                return STATUS_TIMEOUT;
            }
            break;
        }
    }
    return status;
}

int receive_broadcasts(struct linux_endpoint *endpoint, const struct options *options)
{
    uint8_t *buffer;
    int status;

    if (linux_endpoint_end(endpoint) != 1) {
        return command_fail("this is the end of %s that sends: it is a one-way channel",
                            options->channel);
    }
    buffer = malloc(linux_endpoint_ring_bytes(endpoint));
    if (buffer == NULL) {
        return command_fail("there is no memory for messages");
    }
    status = print_broadcasts(endpoint, options, buffer);
    free(buffer);
    return status;
}
