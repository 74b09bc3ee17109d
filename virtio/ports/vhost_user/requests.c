/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "requests.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECES_MAX 64u /* pieces of messages read by one call */

#define DONE    0u
#define REFUSED 1u

int requests_open(struct vhost_user_requests *requests, int news, bool acknowledged,
                  bool configuration)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    *requests = (struct vhost_user_requests){.socket = ends[0],
                                             .news = news,
                                             .acknowledged = acknowledged,
                                             .configuration = configuration,
                                             .changes = requests->changes};
    return ends[1];
}

void requests_close(struct vhost_user_requests *requests)
{
    if (requests->socket >= 0) {
        close(requests->socket);
        requests->socket = -1;
    }
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Handles a complete message. */
static const char *answer(struct vhost_user_requests *requests)
{
    const struct vhost_user_header *asked = &requests->message.header;
    struct __attribute__((packed)) {
        struct vhost_user_header header;
        uint64_t result;
    } reply = {{asked->request, MESSAGE_VERSION | MESSAGE_REPLY, sizeof(reply.result)}, REFUSED};

    if (asked->request == BACKEND_REQUEST_CONFIG_CHANGE && asked->bytes == 0 &&
        requests->configuration) {
        requests->changes++;
        (void)eventfd_write(requests->news, 1);
        reply.result = DONE;
    }
    if ((asked->flags & MESSAGE_NEED_REPLY) == 0 || !requests->acknowledged ||
        send(requests->socket, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT) ==
            (ssize_t)sizeof(reply)) {
        return NULL;
    }
    if (would_block()) {
        return "the back-end does not read the answers to its requests";
    }
    requests_close(requests); /* the back-end has closed the channel */
    return NULL;
}

/* Returns the number of bytes that the message's header lacks, then those that its payload lacks.
 */
static size_t missing(const struct vhost_user_requests *requests)
{
    size_t bytes = sizeof(struct vhost_user_header);

    if (requests->received >= bytes) {
        bytes += requests->message.header.bytes;
    }
    return bytes - requests->received;
}

/* Accounts for `count` more bytes of the message, and handles it when it is complete. */
static const char *continue_message(struct vhost_user_requests *requests, size_t count)
{
    const struct vhost_user_header *header = &requests->message.header;

    requests->received += (uint32_t)count;
    if (requests->received < sizeof(*header)) {
        return NULL;
    }
    if ((header->flags & MESSAGE_VERSION_MASK) != MESSAGE_VERSION ||
        (header->flags & MESSAGE_REPLY) != 0 || header->bytes > REQUESTS_PAYLOAD_MAX) {
        return "what the back-end asks is no request";
    }
    if (missing(requests) != 0) {
        return NULL;
    }
    requests->received = 0;
    return answer(requests);
}

const char *requests_serve(struct vhost_user_requests *requests)
{
    const char *broken = NULL;

    for (unsigned i = 0; i < PIECES_MAX && requests->socket >= 0 && broken == NULL; i++) {
        ssize_t count = recv(requests->socket, &requests->message.bytes[requests->received],
                             missing(requests), MSG_DONTWAIT);

        if (count > 0) {
            broken = continue_message(requests, (size_t)count);
        } else if (count == 0 || !would_block()) {
            requests_close(requests); /* the back-end may close its channel */
        } else {
            break;
        }
    }
    if (broken != NULL) {
        requests_close(requests);
    }
    return broken;
}
