/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side of a channel of messages: a producer, a consumer, and the connection of both with the
 * peer's.
 *
 * A life of a side begins with channel_open() or channel_reset(), and has a generation, a number
 * that its section has not had before. Two lives are connected once each has acknowledged the
 * other's generation. A side sends once it knows that its peer is connected, too. It receives all
 * messages that its peer published in a life, also after that life ended, and then CHANNEL_ENDED.
 * It receives no message that was meant for an earlier life of its own, and none that the peer had
 * not published when it ended.
 *
 * Positions of the rings go on from life to life. So a new life overwrites nothing that its peer
 * still has to read.
 *
 * A channel belongs to one thread at a time. Functions return at once; wait.h waits. Not from
 * interrupt handlers, unless the channel belongs to one.
 */
#ifndef CHANNEL_CONNECTION_H
#define CHANNEL_CONNECTION_H

#include "channel/linkage.h"
#include "channel/port.h"
#include "channel/ring.h"

CHANNEL_C_BEGIN

enum channel_state {
    CHANNEL_CONNECTING, /* the peer has not acknowledged this life, or has no life */
    CHANNEL_CONNECTED,  /* connected; sending waits until the peer is connected, too */
    CHANNEL_ENDING,     /* the peer's life has ended; messages of it may be left to receive */
    CHANNEL_ENDED,  /* all messages were received; channel_accept() connects with the next life */
    CHANNEL_FAILED, /* the peer has violated the format; channel_reset() begins a new life */
};

/* The memory of a channel. */
struct channel_memory {
    void *own;                  /* section of this side */
    const void *peer;           /* section of the peer */
    uint64_t ring_bytes;        /* size of each ring */
    const uint32_t *peer_state; /* the peer's word in the state table; NULL: no state table */
};

/* One side of a channel of messages. */
struct channel {
    struct ring_producer out;
    struct ring_consumer in;
    struct channel_memory memory;
    struct channel_port port;
    enum channel_state state;
    uint64_t generation; /* generation of this life */
    uint64_t peer;       /* generation of the peer's life that was acknowledged; 0: none */
    /* Generation of the peer's last life, if that has ended or violated the format; 0: none. */
    uint64_t ended;
    struct channel_error error;
};

/* Begins a life. The memory stays in use; its addresses are aligned to pages. `port` may have no
 * functions if neither side waits. Returns false if the size of the ring is invalid. */
bool channel_open(struct channel *channel, const struct channel_memory *memory,
                  const struct channel_port *port);

/* Ends this life and begins another: after an error, or to drop all messages that were sent or
 * received. After an error, the new life connects only with the peer's next life. A peer that calls
 * channel_accept(), channel_reset() or starts again has a new one. */
void channel_reset(struct channel *channel);

/* Ends this life and begins no other. The peer receives the messages that were published, and then
 * the state CHANNEL_ENDED. */
void channel_close(struct channel *channel);

/* Observes the peer's life, and returns the state. Tells a peer that waits for space what was
 * released. channel_receive_begin() and channel_send_begin() do the same when they have nothing to
 * return, so call it before a wait for something else, if messages are left to receive: otherwise a
 * peer is told of space only when a quarter of the ring has become free. */
enum channel_state channel_update(struct channel *channel);

/* Connects with the peer's next life when that begins, if the state is CHANNEL_ENDED or
 * CHANNEL_ENDING. In CHANNEL_ENDING, messages that were not received are dropped: to keep them,
 * receive until the state is CHANNEL_ENDED. No effect in other states. This side keeps its life,
 * unless the peer refuses it: then it begins another, here or in a later call that observes the
 * peer. */
void channel_accept(struct channel *channel);

/* Internal: the slow paths, which observe the peer's life. */
uint8_t *channel_send_slowly(struct channel *channel, uint64_t length);
const uint8_t *channel_receive_slowly(struct channel *channel, uint64_t *length, uint32_t *tag);
void channel_notify_peer(struct channel *channel);

/* Returns the place for a message of up to `length` bytes, aligned to 8 bytes. Returns NULL if
 * there is no space (channel_wait_for_space() waits for it), if the length exceeds
 * channel_content_max(), or if the state is not CHANNEL_CONNECTED. */
static inline uint8_t *channel_send_begin(struct channel *channel, uint64_t length)
{
    uint8_t *place = ring_reserve(&channel->out, length);

    return __builtin_expect(place != NULL, true) ? place : channel_send_slowly(channel, length);
}

/* Sends the message: `length` bytes of the place that channel_send_begin() returned, and a tag for
 * the receiver. Notifies the peer if it waits. */
static inline void channel_send_end(struct channel *channel, uint64_t length, uint32_t tag)
{
    ring_commit_and_publish(&channel->out, length, tag);
    if (__builtin_expect(ring_consumer_waits(&channel->out), false)) {
        channel_notify_peer(channel);
    }
}

/* Returns the content of the oldest message, and sets *length and *tag. The content stays in place
 * until channel_receive_end(). Returns NULL if there is no message; the state says whether another
 * one can arrive. */
static inline const uint8_t *channel_receive_begin(struct channel *channel, uint64_t *length,
                                                   uint32_t *tag)
{
    const uint8_t *content = ring_peek(&channel->in, length, tag);

    return __builtin_expect(content != NULL, true) ? content
                                                   : channel_receive_slowly(channel, length, tag);
}

/* Releases the message that channel_receive_begin() returned. Notifies the peer if it waits for
 * space. */
static inline void channel_receive_end(struct channel *channel)
{
    if (__builtin_expect(ring_release(&channel->in), false) && ring_producer_waits(&channel->in)) {
        channel_notify_peer(channel);
    }
}

CHANNEL_C_END

#endif
