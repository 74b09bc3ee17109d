/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_socket.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Waits for the descriptor, or for the end. */
bool fake_wait_for(const struct fake_socket *socket, int descriptor)
{
    struct pollfd wanted[2] = {{.fd = descriptor, .events = POLLIN},
                               {.fd = socket->quit, .events = POLLIN}};

    while (poll(wanted, 2, -1) < 0 && errno == EINTR) {
    }
    return wanted[1].revents == 0;
}

/* Exactly that many bytes. False: hung up, or the end. */
static bool receive(const struct fake_socket *socket, void *memory, size_t bytes, int *descriptor)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control;
    size_t received = 0;

    while (received < bytes) {
        struct iovec rest = {.iov_base = (char *)memory + received, .iov_len = bytes - received};
        struct msghdr header = {.msg_iov = &rest,
                                .msg_iovlen = 1,
                                .msg_control = control.bytes,
                                .msg_controllen = sizeof(control.bytes)};
        struct cmsghdr *rights;
        ssize_t count;

        if (!fake_wait_for(socket, socket->connection)) {
            return false;
        }
        count = recvmsg(socket->connection, &header, 0);
        if (count <= 0) {
            return false;
        }
        rights = CMSG_FIRSTHDR(&header);
        if (rights != NULL) {
            RULE(rights->cmsg_type == SCM_RIGHTS && *descriptor < 0);
            memcpy(descriptor, CMSG_DATA(rights), sizeof(int));
        }
        received += (size_t)count;
    }
    return true;
}

bool fake_receive(const struct fake_socket *socket, struct message *message)
{
    int descriptor = -1;
    bool whole;

    *message = (struct message){.descriptor = -1};
    if (!receive(socket, message, HEADER_BYTES, &descriptor)) {
        return false;
    }
    RULE((message->flags & 0x3u) == 1 && (message->flags & 0x4u) == 0);
    RULE(message->bytes <= PAYLOAD_MAX);
    whole = receive(socket, &message->payload, message->bytes, &descriptor);
    message->descriptor = descriptor;
    return whole;
}

void fake_drop_descriptor(struct message *message)
{
    if (message->descriptor >= 0) {
        close(message->descriptor);
        message->descriptor = -1;
    }
}

void fake_send(const struct fake_socket *socket, const void *memory, size_t bytes)
{
    ssize_t sent = send(socket->connection, memory, bytes, MSG_NOSIGNAL);

    (void)sent; /* a front-end that has left */
}
