/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests and responses over a channel of messages. A request has a number in its tag, and its
 * response the same one. The server needs no functions of its own: it sends each response with the
 * tag of the request.
 *
 * A client waits for one response at a time. Responses to earlier requests, for which it stopped
 * waiting, are dropped when they arrive. A server that sends more responses than it got requests
 * violates this: otherwise it could keep a client for ever.
 */
#ifndef CHANNEL_CALL_H
#define CHANNEL_CALL_H

#include "channel/wait.h"

struct call_client {
    struct channel *channel;
    uint32_t number;   /* of the last request */
    uint32_t answered; /* requests whose responses arrived */
};

enum call_result {
    CALL_ANSWERED,
    CALL_TIMED_OUT,
    CALL_NOT_CONNECTED, /* the channel's state tells why; the request may have been handled */
    CALL_VIOLATED,      /* there is a response without a request; channel_reset() */
};

/* The client's requests and the responses are all that is in the channel. If another client used
 * this life of the channel and left requests without responses, reset the channel first. */
void call_begin(struct call_client *client, struct channel *channel);

/* Returns the place for a request, as channel_send_begin(). */
uint8_t *call_request_begin(struct call_client *client, uint64_t length);

/* Sends the request. */
void call_request_end(struct call_client *client, uint64_t length);

/* Waits for the response to the last request. With CALL_ANSWERED `content` and `length` are those
 * of the response, which stays in place until call_end(). */
enum call_result call_wait(struct call_client *client, const struct channel_sleeper *sleeper,
                           uint64_t deadline, const uint8_t **content, uint64_t *length);

/* Gives the space of the response back. */
void call_end(struct call_client *client);

#endif
