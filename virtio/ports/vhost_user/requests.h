/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end's channel: the back-end sends requests, the front-end answers (protocol feature
 * BACKEND_REQ). Only CONFIG_CHANGE_MSG is supported. Every other request is refused, with an answer
 * if the back-end asks for one. The kernel closes descriptors that come along.
 *
 * No function waits: each call reads a bounded number of pieces, and the rest of a message at the
 * next call.
 */
#ifndef VHOST_USER_REQUESTS_H
#define VHOST_USER_REQUESTS_H

#include "protocol.h"
#include <stdbool.h>
#include <stdint.h>

/* Longest payload that is accepted; longer than that of any request of the protocol. */
#define REQUESTS_PAYLOAD_MAX 256u

struct vhost_user_requests {
    int socket;         /* -1: the channel does not exist, or the back-end has closed it */
    int news;           /* eventfd of the port, written when `changes` is incremented */
    bool acknowledged;  /* REPLY_ACK is negotiated: requests may ask for an answer */
    bool configuration; /* CONFIG is negotiated */
    uint32_t changes;   /* number of configuration changes that the back-end has reported */
    uint32_t received;  /* bytes received of the current message */
    union {
        struct vhost_user_header header;
        uint8_t bytes[sizeof(struct vhost_user_header) + REQUESTS_PAYLOAD_MAX];
    } message;
};

/* Creates the channel. Returns the back-end's end, which the caller closes after it was sent; -1 if
 * the process has no descriptors left. */
int requests_open(struct vhost_user_requests *requests, int news, bool acknowledged,
                  bool configuration);
void requests_close(struct vhost_user_requests *requests);

/* Answers the requests that have arrived. Returns NULL, or a static text if the back-end violated
 * the protocol. */
const char *requests_serve(struct vhost_user_requests *requests);

#endif
