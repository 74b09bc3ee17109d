/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests and responses over a channel of messages. A response has the tag of its request. Tags of
 * requests have the bit CALL_TAG, so that a server can tell requests from other messages, and a
 * number that no earlier request of this side had, of whichever client and life, until 2^31
 * messages later.
 *
 * A client makes one call at a time. While it waits, it drops every message that is not the
 * response: responses to earlier requests, for which it stopped waiting, and what a malicious
 * server sends. They can't keep it beyond its deadline. A response has any length, and its content
 * may change while it is read, as that of every message in place.
 *
 * A request and its response belong to one life of each side. If one ends, the call does, too.
 */
#ifndef CHANNEL_CALL_H
#define CHANNEL_CALL_H

#include "channel/copy.h"
#include "channel/wait.h"

#define CALL_TAG (UINT32_C(1) << 31)

struct call_client {
    struct channel *channel;
    uint64_t generation; /* of the life that sent the last request */
    uint64_t peer;       /* of the life to which it was sent */
    uint32_t tag;        /* of the last request */
    uint64_t dropped;    /* messages that were not the response */
};

enum call_result {
    CALL_ANSWERED,
    CALL_TIMED_OUT,     /* call_wait() may be called again, to wait longer */
    CALL_NOT_CONNECTED, /* the channel's state tells why; the request may have been handled */
};

/* Any number of clients may use the channel, one after the other. */
void call_begin(struct call_client *client, struct channel *channel);

/* Returns the place for a request, as channel_send_begin(). */
uint8_t *call_request_begin(struct call_client *client, uint64_t length);

/* Sends the request. */
void call_request_end(struct call_client *client, uint64_t length);

/* Sends a copy of a request. Waits for space. Returns CHANNEL_NOTHING if the deadline (clock and
 * unit: those of the sleeper) passed before. */
enum channel_result call_request(struct call_client *client, const struct channel_sleeper *sleeper,
                                 uint64_t deadline, const void *content, uint64_t length);

/* Waits for the response to the last request. With CALL_ANSWERED `content` and `length` are those
 * of the response, which stays in place until call_end(). If the deadline passed before the call,
 * it takes one message from the channel at most. */
enum call_result call_wait(struct call_client *client, const struct channel_sleeper *sleeper,
                           uint64_t deadline, const uint8_t **content, uint64_t *length);

/* Gives the space of the response back. */
void call_end(struct call_client *client);

/* For the server: returns true if a message with this tag is a request. */
static inline bool call_is_request(uint32_t tag)
{
    return (tag & CALL_TAG) != 0;
}

/* For the server: sends a copy of the response to the request with this tag. Waits for space, which
 * a malicious client may never give. Returns CHANNEL_NOTHING if the deadline passed before. Don't
 * call channel_accept() or channel_reset() between the request and its response: the next life did
 * not send the request. */
enum channel_result call_answer(struct channel *channel, const struct channel_sleeper *sleeper,
                                uint64_t deadline, const void *content, uint64_t length,
                                uint32_t tag);

#endif
