/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for channels of values. */
#include "command.h"

#include <string.h>

static int send_value(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                      uint64_t deadline)
{
    uint64_t largest = value_content_max(endpoint->memory.ring_bytes);

    (void)deadline; /* a writer never waits */
    if (length > largest) {
        return command_fail("a value of %llu bytes is larger than this channel's largest, %llu",
                            (unsigned long long)length, (unsigned long long)largest);
    }
    memcpy(value_write_begin(&endpoint->writer), content, (size_t)length);
    if (value_write_end(&endpoint->writer, length)) {
        linux_notify(endpoint);
    }
    return STATUS_DONE;
}

int send_values(struct linux_endpoint *endpoint, const struct options *options)
{
    return command_send_input(endpoint, options, send_value);
}

int receive_values(struct linux_endpoint *endpoint, const struct options *options)
{
    int status = STATUS_DONE;
    uint64_t received = 0;

    while (status == STATUS_DONE && (options->count == 0 || received < options->count)) {
        const uint8_t *content;
        uint64_t length;

        if (!linux_wait_for_value(endpoint, command_deadline(options))) {
            return STATUS_TIMEOUT;
        }
        content = value_read(&endpoint->reader, &length);
        if (content == NULL) {
            return command_fail_format(&endpoint->reader.error);
        }
        status = command_print(content, length);
        received++;
    }
    return status;
}
