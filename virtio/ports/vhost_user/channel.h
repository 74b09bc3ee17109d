/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket to a vhost-user back-end. It carries one request at a time and the answer to it. The
 * back-end is not trusted: every call ends within the time limit, whatever the back-end sends or
 * omits. The first failure breaks the channel for good; `broken` is the reason, and every further
 * call fails at once. While a call waits, it answers the back-end's own requests (requests.h),
 * because the back-end may be waiting for that.
 */
#ifndef VHOST_USER_CHANNEL_H
#define VHOST_USER_CHANNEL_H

#include "requests.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_NO_DESCRIPTOR (-1)

struct vhost_user_channel {
    int socket;         /* -1: the back-end has closed the connection, or never connected */
    const char *broken; /* NULL, or a static text */
    bool acknowledged;  /* REPLY_ACK is negotiated: the back-end answers every request */
    unsigned timeout_ms;
    struct vhost_user_requests requests;
};

/* Takes over a connected socket. `requests` is opened later (requests_open()). */
void channel_open(struct vhost_user_channel *channel, int socket, unsigned timeout_ms);
/* Closes the socket and the back-end's request channel, also if the channel is broken. */
void channel_close(struct vhost_user_channel *channel);
/* Breaks the channel for a reason that the caller has found; an earlier reason stays. Returns
 * false. */
bool channel_break(struct vhost_user_channel *channel, const char *reason);

/* Sends a request that has no answer, with a descriptor unless it is CHANNEL_NO_DESCRIPTOR, and
 * waits for the acknowledgement if REPLY_ACK is negotiated. Returns false if the channel is broken.
 */
bool channel_tell(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                  size_t bytes, int descriptor);
/* The same with a number as payload. */
bool channel_tell_number(struct vhost_user_channel *channel, uint32_t request, uint64_t number,
                         int descriptor);
/* Sends a request and waits for its answer, which must have exactly `answer_bytes`. Returns false
 * if the channel is broken; *answer is then undefined. */
bool channel_ask(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                 size_t bytes, void *answer, size_t answer_bytes);

/* Answers the back-end's requests and checks that nothing unexpected has arrived on the socket.
 * Returns false if the back-end has closed the connection or sent an unexpected message; the
 * channel is then broken. Does not wait. */
bool channel_look(struct vhost_user_channel *channel);

/*
 * After the channel broke while the back-end may still use the shared memory: shuts down our side
 * of the connection. Returns true once the back-end has closed its side. From then on it does not
 * use the memory. Does not wait.
 */
bool channel_leave(struct vhost_user_channel *channel);

#endif
