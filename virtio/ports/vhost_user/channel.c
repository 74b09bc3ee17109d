/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include "clock.h"
#include "protocol.h"
#include "virtio/platform.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

/* Maximum number of reads in a call that discard data which the back-end sends before it closes the
 * connection. */
#define LEAVE_DRAINED_MAX 64u

void channel_open(struct vhost_user_channel *channel, int socket, unsigned timeout_ms)
{
    channel->socket = socket;
    channel->broken = NULL;
    channel->acknowledged = false;
    channel->timeout_ms = timeout_ms;
}

void channel_close(struct vhost_user_channel *channel)
{
    if (channel->socket >= 0) {
        close(channel->socket);
        channel->socket = -1;
    }
    requests_close(&channel->requests);
}

bool channel_break(struct vhost_user_channel *channel, const char *reason)
{
    if (channel->broken == NULL) {
        channel->broken = reason;
    }
    return false;
}

static bool hung_up(struct vhost_user_channel *channel)
{
    channel_close(channel);
    return channel_break(channel, "the back-end has hung up");
}

/* Answers the back-end's requests. Returns false if one of them violates the protocol. */
static bool answer_requests(struct vhost_user_channel *channel)
{
    const char *reason = requests_serve(&channel->requests);

    return reason == NULL || channel_break(channel, reason);
}

/* Waits until the socket is ready for `events`. Returns false if the deadline has passed. */
static bool await(struct vhost_user_channel *channel, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd wanted[2] = {{.fd = channel->socket, .events = events},
                                   {.fd = channel->requests.socket, .events = POLLIN}};
        int ready = vhost_user_wait(wanted, 2, deadline);

        if (ready > 0 && wanted[1].revents != 0 && !answer_requests(channel)) {
            return false;
        }
        if (ready > 0 && wanted[0].revents != 0) {
            return true;
        }
        /* The deadline is checked after poll(), so that a late answer that has arrived is accepted.
         */
        if (virtio_platform_now() >= deadline || (ready < 0 && errno != EINTR)) {
            return channel_break(channel, "the back-end does not answer");
        }
    }
}

static bool worth_waiting(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Sends all bytes of a message, with the descriptor at the first byte. */
static bool send_message(struct vhost_user_channel *channel, const void *message, size_t bytes,
                         int descriptor, uint64_t deadline)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control = {{0}};
    size_t sent = 0;

    while (sent < bytes) {
        struct iovec rest = {.iov_base = (char *)message + sent, .iov_len = bytes - sent};
        struct msghdr header = {.msg_iov = &rest, .msg_iovlen = 1};
        ssize_t count;

        if (descriptor != CHANNEL_NO_DESCRIPTOR && sent == 0) {
            struct cmsghdr *rights = &control.alignment;

            header.msg_control = control.bytes;
            header.msg_controllen = sizeof(control.bytes);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
        }
        count = sendmsg(channel->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            sent += (size_t)count;
        } else if (!worth_waiting()) {
            return hung_up(channel);
        } else if (!await(channel, POLLOUT, deadline)) {
            return false;
        }
    }
    return true;
}

/* Receives exactly `bytes`. The kernel closes descriptors that come along, because none is
 * expected. */
static bool receive_exactly(struct vhost_user_channel *channel, void *memory, size_t bytes,
                            uint64_t deadline)
{
    size_t received = 0;

    while (received < bytes) {
        ssize_t count =
            recv(channel->socket, (char *)memory + received, bytes - received, MSG_DONTWAIT);

        if (count > 0) {
            received += (size_t)count;
        } else if (count == 0 || !worth_waiting()) {
            return hung_up(channel);
        } else if (!await(channel, POLLIN, deadline)) {
            return false;
        }
    }
    return true;
}

static bool receive_answer(struct vhost_user_channel *channel, uint32_t request, void *answer,
                           size_t bytes, uint64_t deadline)
{
    struct vhost_user_header header;

    if (!receive_exactly(channel, &header, sizeof(header), deadline)) {
        return false;
    }
    if ((header.flags & MESSAGE_VERSION_MASK) != MESSAGE_VERSION ||
        (header.flags & MESSAGE_REPLY) == 0 || header.request != request) {
        return channel_break(channel, "the back-end answers what it was not asked");
    }
    if (header.bytes != bytes) {
        return channel_break(channel, "the back-end's answer has the wrong length");
    }
    return receive_exactly(channel, answer, bytes, deadline);
}

static bool send_request(struct vhost_user_channel *channel, struct vhost_user_header header,
                         const void *payload, int descriptor, uint64_t deadline)
{
    char message[sizeof(header) + sizeof(struct vhost_user_vring_address)];

    _Static_assert(sizeof(struct vhost_user_vring_address) >=
                       sizeof(struct vhost_user_memory_table),
                   "the longest payload");
    if (channel->broken != NULL) {
        return false;
    }
    if (channel->socket < 0) {
        return hung_up(channel);
    }
    memcpy(message, &header, sizeof(header));
    if (header.bytes != 0) {
        memcpy(message + sizeof(header), payload, header.bytes);
    }
    return send_message(channel, message, sizeof(header) + header.bytes, descriptor, deadline);
}

static uint64_t deadline_of(const struct vhost_user_channel *channel)
{
    return virtio_platform_now() + channel->timeout_ms * NANOSECONDS_PER_MILLISECOND;
}

bool channel_tell(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                  size_t bytes, int descriptor)
{
    struct vhost_user_header header = {request, MESSAGE_VERSION, (uint32_t)bytes};
    uint64_t deadline = deadline_of(channel);
    uint64_t refused = 0;

    if (channel->acknowledged) {
        header.flags |= MESSAGE_NEED_REPLY;
    }
    if (!send_request(channel, header, payload, descriptor, deadline)) {
        return false;
    }
    if (channel->acknowledged &&
        !receive_answer(channel, request, &refused, sizeof(refused), deadline)) {
        return false;
    }
    return refused == 0 || channel_break(channel, "the back-end refuses a request");
}

bool channel_tell_number(struct vhost_user_channel *channel, uint32_t request, uint64_t number,
                         int descriptor)
{
    return channel_tell(channel, request, &number, sizeof(number), descriptor);
}

bool channel_ask(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                 size_t bytes, void *answer, size_t answer_bytes)
{
    struct vhost_user_header header = {request, MESSAGE_VERSION, (uint32_t)bytes};
    uint64_t deadline = deadline_of(channel);

    return send_request(channel, header, payload, CHANNEL_NO_DESCRIPTOR, deadline) &&
           receive_answer(channel, request, answer, answer_bytes, deadline);
}

bool channel_look(struct vhost_user_channel *channel)
{
    char byte;
    ssize_t count;

    if (channel->broken != NULL) {
        return false;
    }
    if (channel->socket < 0) {
        return hung_up(channel);
    }
    if (!answer_requests(channel)) {
        return false;
    }
    count = recv(channel->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (count > 0) {
        return channel_break(channel, "the back-end speaks out of turn");
    }
    return (count < 0 && worth_waiting()) || hung_up(channel);
}

bool channel_leave(struct vhost_user_channel *channel)
{
    char dropped[256];

    if (channel->socket < 0) {
        return true;
    }
    requests_close(&channel->requests);
    (void)shutdown(channel->socket, SHUT_WR);
    for (unsigned i = 0; i < LEAVE_DRAINED_MAX; i++) {
        ssize_t count = recv(channel->socket, dropped, sizeof(dropped), MSG_DONTWAIT);

        if (count == 0 || (count < 0 && !worth_waiting())) {
            channel_close(channel);
            return true;
        }
        if (count < 0) {
            return false;
        }
    }
    return false;
}
