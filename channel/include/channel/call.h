/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests and responses over a channel of messages. A response has the tag of its request. Tags of
 * requests have the bit CALL_TAG, so that a server can distinguish requests from other messages,
 * and a number. No earlier request of this side, by whichever client and in whichever life, has had
 * this number within the last 2^31 messages.
 *
 * A client makes one call at a time. While it waits, it drops every message that is not the
 * response: responses to earlier requests, for which it stopped waiting, and messages of a
 * malicious server. Such messages can't keep the client beyond its deadline. A response has any
 * length, and its content may change while it is read, as that of every message in place.
 *
 * A request and its response belong to one life of each side. If one of these lives ends, the call
 * ends, too.
 */
#ifndef CHANNEL_CALL_H
#define CHANNEL_CALL_H

#include "channel/copy.h"
#include "channel/linkage.h"
#include "channel/wait.h"

CHANNEL_C_BEGIN

#define CALL_TAG (UINT32_C(1) << 31)

/* A client of a channel. */
struct call_client {
    struct channel *channel;
    uint64_t generation; /* generation of this side's life that sent the last request */
    uint64_t peer;       /* generation of the peer's life to which it was sent */
    uint32_t tag;        /* tag of the last request */
    uint64_t dropped;    /* number of messages that were not the response */
};

enum call_result {
    CALL_ANSWERED,
    CALL_TIMED_OUT,     /* the deadline has passed; call_wait() may be called again */
    CALL_NOT_CONNECTED, /* the channel's state says why; the server may have handled the request */
};

/* Initialises a client of the channel. Any number of clients may use a channel, one after the
 * other. */
void call_begin(struct call_client *client, struct channel *channel);

/* Returns the place for a request, like channel_send_begin(). */
uint8_t *call_request_begin(struct call_client *client, uint64_t length);

/* Sends the request: `length` bytes of the place. */
void call_request_end(struct call_client *client, uint64_t length);

/* Sends a copy of a request. Waits for space. Returns CHANNEL_NOTHING if the deadline has passed
 * before. Clock and unit of the deadline are those of the sleeper. */
enum channel_result call_request(struct call_client *client, const struct channel_sleeper *sleeper,
                                 uint64_t deadline, const void *content, uint64_t length);

/* Waits for the response to the last request. With CALL_ANSWERED, *content and *length are those of
 * the response, which stays in place until call_end(). If the deadline has passed before the call,
 * it removes at most one message from the channel. */
enum call_result call_wait(struct call_client *client, const struct channel_sleeper *sleeper,
                           uint64_t deadline, const uint8_t **content, uint64_t *length);

/* Releases the response. */
void call_end(struct call_client *client);

/* Returns true if a message with this tag is a request. For servers. */
static inline bool call_is_request(uint32_t tag)
{
    return (tag & CALL_TAG) != 0;
}

/* Sends a copy of the response to the request with this tag. For servers. Waits for space, which a
 * malicious client may never free. Returns CHANNEL_NOTHING if the deadline has passed before. Don't
 * call channel_accept() or channel_reset() between a request and its response: the client's next
 * life did not send the request. */
enum channel_result call_answer(struct channel *channel, const struct channel_sleeper *sleeper,
                                uint64_t deadline, const void *content, uint64_t length,
                                uint32_t tag);

CHANNEL_C_END

#endif
