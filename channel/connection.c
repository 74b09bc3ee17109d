/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/connection.h"

static const struct channel_control *peer_control(const struct channel *channel)
{
    return channel->memory.peer;
}

void channel_notify_peer(struct channel *channel)
{
    struct channel_control *own = channel->memory.own;

    if (channel->port.notify != NULL) {
        own->notifications++;
        channel->port.notify(channel->port.context);
    }
}

static void set_state(struct channel *channel, enum channel_state state)
{
    channel->state = state;
    if (channel->port.observe != NULL) {
        channel->port.observe(channel->port.context, channel);
    }
}

/* Returns the position up to which the peer can have received messages. */
static uint64_t published(const struct channel *channel)
{
    const struct channel_control *own = channel->memory.own;

    return word_load(&own->produced) & CHANNEL_POSITION_BITS;
}

static void fail(struct channel *channel, const struct channel_error *error)
{
    channel->error = *error;
    set_state(channel, CHANNEL_FAILED);
    ring_producer_end(&channel->out);
    ring_consumer_end(&channel->in);
}

static bool fail_if(struct channel *channel, bool is_wrong, enum channel_error_kind kind,
                    uint64_t value)
{
    struct channel_control *own = channel->memory.own;
    const struct channel_error error = {kind, value, published(channel)};

    if (is_wrong) {
        own->errors++;
        fail(channel, &error);
    }
    return is_wrong;
}

/* Shows the peer a new generation. */
static void announce_life(struct channel *channel)
{
    struct channel_control *own = channel->memory.own;
    uint64_t acknowledged = word_load(&peer_control(channel)->acknowledged);

    do {
        channel->generation++;
    } while (channel->generation == 0 || channel->generation == acknowledged);
    channel->peer = 0;
    channel->ended = 0;
    channel->error = (struct channel_error){.kind = CHANNEL_ERROR_NONE};
    set_state(channel, CHANNEL_CONNECTING);
    channel->out.error = channel->error;
    channel->in.error = channel->error;
    ring_producer_end(&channel->out);
    ring_consumer_end(&channel->in);
    word_store(&own->waits, 0);
    word_store(&own->format, CHANNEL_FORMAT_MESSAGES);
    word_store(&own->ring_bytes, channel->memory.ring_bytes);
    /* Release: who sees the new generation does not see the acknowledgement of the last life. */
    word_store(&own->acknowledged, 0);
    word_store(&own->connected, 0);
    word_store_release(&own->generation, channel->generation);
    channel_notify_peer(channel);
}

/* Acknowledges the peer's life. From now on its messages are for this life, and ours for it. */
static void acknowledge(struct channel *channel, uint64_t generation)
{
    struct channel_control *own = channel->memory.own;
    const struct channel_control *peer = peer_control(channel);
    uint64_t format = word_load(&peer->format);
    uint64_t ring_bytes = word_load(&peer->ring_bytes);

    channel->peer = generation;
    if (fail_if(channel, format != CHANNEL_FORMAT_MESSAGES, CHANNEL_ERROR_FORMAT, format) ||
        fail_if(channel, ring_bytes != channel->memory.ring_bytes, CHANNEL_ERROR_RING_BYTES,
                ring_bytes)) {
        return;
    }
    word_store(&own->connected, 0);
    word_store(&own->start, published(channel));
    word_store_release(&own->acknowledged, generation);
    channel_notify_peer(channel);
}

/* Sends only once the peer is connected, too: otherwise this life could end, and its messages be
 * lost, before the peer has seen that its own life is acknowledged. */
static void begin_sending(struct channel *channel)
{
    const struct channel_control *peer = peer_control(channel);

    if (!channel->out.is_open && word_load(&peer->connected) == channel->generation) {
        ring_producer_begin(&channel->out, channel->memory.own, peer, channel->memory.ring_bytes,
                            published(channel));
    }
}

static void connect(struct channel *channel)
{
    struct channel_control *own = channel->memory.own;
    const struct channel_control *peer = peer_control(channel);
    /* Acquire: format and size of the ring are those of this life. */
    uint64_t generation = word_load_acquire(&peer->generation);
    uint64_t start;

    if (generation == 0 || generation == channel->ended) {
        return;
    }
    if (generation != channel->peer) {
        acknowledge(channel, generation);
    }
    /* Acquire: the start is the one of this connection. */
    if (channel->state != CHANNEL_CONNECTING ||
        word_load_acquire(&peer->acknowledged) != channel->generation) {
        return;
    }
    start = word_load(&peer->start);
    if (fail_if(channel, start % CHANNEL_ALIGNMENT != 0, CHANNEL_ERROR_START, start)) {
        return;
    }
    ring_consumer_begin(&channel->in, channel->memory.peer, own, channel->memory.ring_bytes, start);
    /* Release: the peer reads the consumed index of this connection. It does so after the fence of
     * its first message (ring_consumer_waits()). */
    word_store_release(&own->connected, generation);
    set_state(channel, CHANNEL_CONNECTED);
    channel_notify_peer(channel);
    begin_sending(channel);
}

/* Begins a life: the peer, if it has one, learns both our generation and that we know its.
 * `violator`: generation of the peer that is not connected with; 0: none. */
static void begin_life(struct channel *channel, uint64_t violator)
{
    announce_life(channel);
    channel->ended = violator;
    connect(channel);
}

bool channel_open(struct channel *channel, const struct channel_memory *memory,
                  const struct channel_port *port)
{
    struct channel_control *own = memory->own;
    uint64_t bytes = memory->ring_bytes;

    if (bytes < CHANNEL_RING_MIN || bytes > CHANNEL_RING_MAX || (bytes & (bytes - 1)) != 0) {
        return false;
    }
    *channel = (struct channel){
        .memory = *memory,
        .port = *port,
        .generation = word_load(&own->generation),
    };
    /* The section may be all that remains of a life that ended anywhere. The peer reads its
     * messages up to this position. */
    if (word_load(&own->produced) != published(channel)) {
        word_store(&own->produced, published(channel));
    }
    begin_life(channel, 0);
    return true;
}

void channel_reset(struct channel *channel)
{
    begin_life(channel, channel->state == CHANNEL_FAILED ? channel->peer : 0);
}

void channel_close(struct channel *channel)
{
    announce_life(channel);
    set_state(channel, CHANNEL_ENDED);
}

/* Notices that the peer's life ended: by another generation, or by the state table. */
static void check_life(struct channel *channel)
{
    /* Acquire: the last life's produced index no longer changes. */
    uint64_t generation = word_load_acquire(&peer_control(channel)->generation);
    const uint32_t *state = channel->memory.peer_state;
    bool is_absent = state != NULL && word_load_acquire32(state) == 0;

    if (generation == channel->peer && !is_absent) {
        begin_sending(channel);
        return;
    }
    channel->ended = generation == channel->peer ? generation : 0;
    set_state(channel, CHANNEL_ENDING);
    ring_producer_end(&channel->out);
}

enum channel_state channel_update(struct channel *channel)
{
    if (channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_ENDING) {
        if (channel->in.error.kind != CHANNEL_ERROR_NONE) {
            fail(channel, &channel->in.error);
        } else if (channel->out.error.kind != CHANNEL_ERROR_NONE) {
            fail(channel, &channel->out.error);
        }
    }
    if (channel->state == CHANNEL_CONNECTED) {
        check_life(channel);
    } else if (channel->state == CHANNEL_CONNECTING) {
        connect(channel);
    }
    return channel->state;
}

void channel_accept(struct channel *channel)
{
    if (channel->state == CHANNEL_ENDING || channel->state == CHANNEL_ENDED) {
        ring_consumer_end(&channel->in);
        set_state(channel, CHANNEL_CONNECTING);
        connect(channel);
    }
}

uint8_t *channel_send_slowly(struct channel *channel, uint64_t length)
{
    if (channel_update(channel) != CHANNEL_CONNECTED) {
        return NULL;
    }
    return ring_reserve(&channel->out, length);
}

const uint8_t *channel_receive_slowly(struct channel *channel, uint64_t *length, uint32_t *tag)
{
    const uint8_t *content;

    if (ring_producer_waits(&channel->in)) {
        channel_notify_peer(channel);
    }
    if (channel_update(channel) != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING) {
        return NULL;
    }
    /* Once more, because the peer may have published its last messages before its life ended. */
    content = ring_peek(&channel->in, length, tag);
    if (content != NULL) {
        return content;
    }
    if (channel->in.error.kind != CHANNEL_ERROR_NONE) {
        fail(channel, &channel->in.error);
    } else if (channel->state == CHANNEL_ENDING) {
        ring_consumer_end(&channel->in);
        set_state(channel, CHANNEL_ENDED);
    }
    return NULL;
}
