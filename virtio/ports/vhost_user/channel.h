/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket to a vhost-user back-end: one request at a time, and the answer to it. The back-end is
 * not trusted: whatever it sends or leaves out, a call ends within the time limit. The first thing
 * that goes wrong breaks the channel for good, `broken` says what it was, and every further call
 * fails at once. While a call waits it answers what the back-end asks on its own channel
 * (requests.h): the back-end may be waiting for that.
 */
#ifndef VHOST_USER_CHANNEL_H
#define VHOST_USER_CHANNEL_H

#include "requests.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_NO_DESCRIPTOR (-1)

struct vhost_user_channel {
    int socket;         /* -1: the back-end has hung up, or never was there */
    const char *broken; /* NULL, or a static text */
    bool acknowledged;  /* REPLY_ACK is negotiated: every request is answered */
    unsigned timeout_ms;
    struct vhost_user_requests requests;
};

/* Takes over a connected socket; of `requests` there is nothing yet. */
void channel_open(struct vhost_user_channel *channel, int socket, unsigned timeout_ms);
/* Closes it, broken or not, and the back-end's own. */
void channel_close(struct vhost_user_channel *channel);
/* Breaks it, for a reason that only the caller can see; the first one stays. Returns false. */
bool channel_break(struct vhost_user_channel *channel, const char *reason);

/* Sends a request that has no answer of its own, with a descriptor unless CHANNEL_NO_DESCRIPTOR.
 * Waits for the acknowledgement if there is one. False: the channel is broken. */
bool channel_tell(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                  size_t bytes, int descriptor);
/* The same with a number. */
bool channel_tell_number(struct vhost_user_channel *channel, uint32_t request, uint64_t number,
                         int descriptor);
/* Sends a request and waits for its answer, which must be exactly as long as `answer`. False: the
 * channel is broken, and *answer is not to be used. */
bool channel_ask(struct vhost_user_channel *channel, uint32_t request, const void *payload,
                 size_t bytes, void *answer, size_t answer_bytes);

/* Answers what the back-end asks on its own channel, and looks at the socket, which should be
 * silent. False: the back-end has hung up or speaks out of turn; the channel is broken. Doesn't
 * wait. */
bool channel_look(struct vhost_user_channel *channel);

/*
 * After the channel broke while the back-end may still use shared memory: says goodbye, and is true
 * once the back-end has hung up too, which is how it shows that it let go. Doesn't wait.
 */
bool channel_leave(struct vhost_user_channel *channel);

#endif
