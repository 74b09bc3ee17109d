/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that make calls and answer them (channel/call.h). */
#include "command.h"

#include "channel/call.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a call, and prints the response. Returns a status; prints what is wrong. */
static int make_call(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                     uint64_t deadline)
{
    const struct channel_sleeper sleeper = linux_sleeper(endpoint);
    struct call_client client;
    const uint8_t *response;
    uint64_t response_length;
    int status;

    call_begin(&client, linux_channel(endpoint));
    status = command_check_sent(endpoint, length,
                                call_request(&client, &sleeper, deadline, content, length));
    if (status != STATUS_DONE) {
        return status;
    }
    if (call_wait(&client, &sleeper, deadline, &response, &response_length) != CALL_ANSWERED) {
        return command_fail_ended(linux_channel(endpoint));
    }
    status = framing_write(response, response_length);
    call_end(&client);
    return status;
}

int make_calls(struct linux_endpoint *endpoint, const struct options *options)
{
    int status = command_connect(endpoint, options, command_deadline(options));

    return status == STATUS_DONE ? command_send_input(endpoint, options, make_call) : status;
}

static int send_response(struct linux_endpoint *endpoint, const struct options *options,
                         const struct input *response, uint32_t tag)
{
    const struct channel_sleeper sleeper = linux_sleeper(endpoint);
    enum channel_result result =
        call_answer(linux_channel(endpoint), &sleeper, command_deadline(options), response->content,
                    response->length, tag);

    /* The response is lost if the client ended, which command_receive_each() will notice. */
    return result == CHANNEL_NOT_CONNECTED ? STATUS_DONE
                                           : command_check_sent(endpoint, response->length, result);
}

/* Prints a request, and answers it with the next message of standard input. Drops other messages.
 * Returns a status; prints what is wrong. */
static int answer_call(struct linux_endpoint *endpoint, const struct options *options,
                       const uint8_t *content, uint64_t length, uint32_t tag)
{
    struct input response = {0};
    bool has_message;
    int status;

    if (!call_is_request(tag)) {
        return STATUS_DONE;
    }
    status = framing_write(content, length);
    if (status != STATUS_DONE) {
        return status;
    }
    status = framing_read(&response, &has_message);
    if (status == STATUS_DONE) {
        status = has_message ? send_response(endpoint, options, &response, tag)
                             : command_fail("standard input has no response for this request");
    }
    free(response.content);
    return status;
}

int answer_calls(struct linux_endpoint *endpoint, const struct options *options)
{
    return command_receive_each(endpoint, options, answer_call);
}
