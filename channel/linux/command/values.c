/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for channels of values. */
#include "command.h"

#include <string.h>

static int send_value(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                      uint64_t deadline)
{
    struct value_writer *writer = linux_value_writer(endpoint);
    uint64_t largest = value_content_max(linux_endpoint_ring_bytes(endpoint));

    (void)deadline; /* a writer never waits */
    if (length > largest) {
        return command_fail("a value of %llu bytes is larger than this channel's largest, %llu",
                            (unsigned long long)length, (unsigned long long)largest);
    }
    memcpy(value_write_begin(writer), content, (size_t)length);
    if (value_write_end(writer, length)) {
        linux_notify(endpoint);
    }
    return STATUS_DONE;
}

int send_values(struct linux_endpoint *endpoint, const struct options *options)
{
    return command_send_input(endpoint, options, send_value);
}

/* Waits for the next value, and returns it. NULL, with a status, if the deadline passed or the
 * writer violated the format. */
static const uint8_t *receive_value(struct linux_endpoint *endpoint, uint64_t *length,
                                    uint64_t deadline, int *status)
{
    struct value_reader *reader = linux_value_reader(endpoint);

    *status = STATUS_TIMEOUT;
    while (linux_wait_for_value(endpoint, deadline)) {
        const uint8_t *content = value_read(reader, length);

        if (content != NULL) {
            *status = STATUS_DONE;
            return content;
        }
        if (reader->error.kind != CHANNEL_ERROR_NONE) {
            *status = command_fail_format(&reader->error);
            return NULL;
        }
        /* A malicious writer has taken the value back, and may do so for ever. */
        if (linux_now() >= deadline) {
            return NULL;
        }
    }
    return NULL;
}

int receive_values(struct linux_endpoint *endpoint, const struct options *options)
{
    int status = STATUS_DONE;
    uint64_t received = 0;

    while (status == STATUS_DONE && (options->count == 0 || received < options->count)) {
        const uint8_t *content;
        uint64_t length;

        content = receive_value(endpoint, &length, command_deadline(options), &status);
        if (content != NULL) {
            status = framing_write(content, length);
            received++;
        }
    }
    return status;
}
