/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The channel on which the back-end asks and the front-end answers (protocol feature BACKEND_REQ).
 * Only one thing is understood, that the configuration has changed; everything else is refused,
 * with an answer if one is wanted. Descriptors that come along are closed by the kernel: nothing
 * here takes them.
 *
 * Nothing waits: what is not there yet is read at the next look, and one look reads a bounded
 * number of pieces.
 */
#ifndef VHOST_USER_REQUESTS_H
#define VHOST_USER_REQUESTS_H

#include "protocol.h"
#include <stdbool.h>
#include <stdint.h>

/* The longest payload that is read: more than any request of the protocol has. */
#define REQUESTS_PAYLOAD_MAX 256u

struct vhost_user_requests {
    int socket;         /* -1: there is no such channel, or the back-end has closed it */
    int news;           /* eventfd of the port's: written to when `changes` counts */
    bool acknowledged;  /* REPLY_ACK is negotiated: an answer is sent if one is wanted */
    bool configuration; /* CONFIG is negotiated */
    uint32_t changes;   /* of the configuration, that the back-end told */
    uint32_t received;  /* bytes of the message that is on its way */
    union {
        struct vhost_user_header header;
        uint8_t bytes[sizeof(struct vhost_user_header) + REQUESTS_PAYLOAD_MAX];
    } message;
};

/* Makes the channel. Returns the end that is the back-end's, which the caller closes once it is
 * passed on; -1: no descriptors left. */
int requests_open(struct vhost_user_requests *requests, int news, bool acknowledged,
                  bool configuration);
void requests_close(struct vhost_user_requests *requests);

/* Answers what has come. NULL, or a static text: what the back-end did against the protocol. */
const char *requests_serve(struct vhost_user_requests *requests);

#endif
