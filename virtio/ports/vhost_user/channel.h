/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket to a vhost-user back-end: one request at a time, and the answer to it. The back-end is
 * not trusted: whatever it sends or leaves out, a call ends within the time limit. The first thing
 * that goes wrong breaks the channel for good, `broken` says what it was, and every further call
 * fails at once.
 */
#ifndef VHOST_USER_CHANNEL_H
#define VHOST_USER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_NO_DESCRIPTOR (-1)

struct vhost_user_channel {
    int socket;         /* -1: the back-end has hung up, or never was there */
    const char *broken; /* NULL, or a static text */
    bool acknowledged;  /* REPLY_ACK is negotiated: every request is answered */
    unsigned timeout_ms;
};

/* Takes over a connected socket. */
void channel_open(struct vhost_user_channel *channel, int socket, unsigned timeout_ms);
/* Closes it, broken or not. */
void channel_close(struct vhost_user_channel *channel);

/* Sends a request that has no answer of its own, with a descriptor unless CHANNEL_NO_DESCRIPTOR.
 * Waits for the acknowledgement if there is one. False: the channel is broken. */
bool channel_tell(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                  size_t bytes, int descriptor);
/* Sends a request and waits for its answer, which must be exactly as long as `answer`. False: the
 * channel is broken, and *answer is not to be used. */
bool channel_ask(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                 size_t bytes, void *answer, size_t answer_bytes);

/* Looks at a socket that should be silent. False: the back-end has hung up or speaks out of turn;
 * the channel is broken. Doesn't wait. */
bool channel_silent(struct vhost_user_channel *channel);

/*
 * After the channel broke while the back-end may still use shared memory: says goodbye, and is true
 * once the back-end has hung up too, which is how it shows that it let go. Doesn't wait.
 */
bool channel_leave(struct vhost_user_channel *channel);

#endif
