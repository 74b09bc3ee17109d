/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake of two lives, A with generation 5 and B with generation 9. Each arrow is a word of
 * its side's control page, stored with release order, and the state of the side after the store.
 *
 *      A                                                            B
 *      CONNECTING  generation = 5, acknowledged = 0  ----------->   acknowledges A
 *      acknowledges B  <-----------  generation = 9, acknowledged = 5, start    CONNECTING
 *                  acknowledged = 9, start, connected = 9  ----->   begins to receive
 *      CONNECTED                                                    CONNECTED
 *      begins to send  <-----------  connected = 5                  begins to send
 *
 * `acknowledged` promises that later messages are for that life: they begin at `start`.
 * `connected` says that the side has seen its own life acknowledged. Only then does the peer send:
 * otherwise a life could end, and its messages be lost, before the peer has seen that its own life
 * is acknowledged.
 *
 * Each call of channel_update() loads the peer's generation once and acts on what it sees
 * (`actions`):
 *
 *     state       peer's life                         action
 *     CONNECTING  none, or the one that ended         -
 *                 refuses this one                    begin another life, then as for a new one
 *                 new                                 acknowledge it, then as below
 *                 acknowledged                        if `acknowledged` is this generation:
 *                                                     begin to receive; CONNECTED
 *     CONNECTED   acknowledged                        if `connected` is this generation:
 *                                                     begin to send
 *                 none, new, or absent in the         end sending; ENDING
 *                 state table
 *     ENDING      not loaded                          when all messages are received: ENDED
 *     ENDED       not loaded                          -
 *     FAILED      not loaded                          -
 *
 * In CONNECTED and ENDING, a violation of the format by the peer leads to FAILED.
 * channel_accept() leads from ENDING and ENDED to CONNECTING, in the same life of this side.
 * channel_reset() leads from every state to CONNECTING, in a new life.
 */
#include "channel/connection.h"

_Static_assert(sizeof(struct channel_control) <= CHANNEL_CONTROL_BYTES, "one page");

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

    return word_load(&own->produced);
}

static void fail(struct channel *channel, const struct channel_error *error)
{
    struct channel_control *own = channel->memory.own;

    channel->error = *error;
    /* The peer's next life may begin before this side does, and must not have this generation. */
    word_store(&own->refused, channel->peer);
    set_state(channel, CHANNEL_FAILED);
    ring_producer_end(&channel->out);
    ring_consumer_end(&channel->in);
}

/* Fails if `is_wrong`. Returns `is_wrong`. */
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

/* Sets a generation that this section has not had in the peer's sight. A malicious life may have
 * left a smaller one than its own. The peer has acknowledged that one, or refuses it. */
static void choose_generation(struct channel *channel)
{
    const struct channel_control *peer = peer_control(channel);
    /* Acquire: who sees that the peer's last life has ended sees which life the next one refuses.
     */
    uint64_t known = word_load_acquire(&peer->acknowledged);
    uint64_t refused = word_load(&peer->refused);

    do {
        channel->generation++;
    } while (channel->generation == 0 || channel->generation == known ||
             channel->generation == refused);
}

/* Sets the generation of the peer with which this side does not connect from now on, because it
 * violated the format; 0: none. */
static void set_violator(struct channel *channel, uint64_t violator)
{
    struct channel_control *own = channel->memory.own;

    channel->ended = violator;
    word_store(&own->refused, violator);
}

/* Publishes a new generation of this side. */
static void announce_life(struct channel *channel)
{
    struct channel_control *own = channel->memory.own;

    choose_generation(channel);
    channel->peer = 0;
    channel->error = (struct channel_error){.kind = CHANNEL_ERROR_NONE};
    set_state(channel, CHANNEL_CONNECTING);
    channel->out.error = channel->error;
    channel->in.error = channel->error;
    ring_producer_end(&channel->out);
    ring_consumer_end(&channel->in);
    word_store(&own->waits, word_load(&own->armed));
    word_store(&own->format, CHANNEL_FORMAT_MESSAGES);
    word_store(&own->ring_bytes, channel->memory.ring_bytes);
    /* Release: see choose_generation(). */
    word_store_release(&own->acknowledged, 0);
    word_store(&own->connected, 0);
    /* Release: who sees the new generation does not see the acknowledgement of the last life. */
    word_store_release(&own->generation, channel->generation);
    channel_notify_peer(channel);
}

/* Acknowledges the peer's life: later messages of either side are for the other's present life.
 * Returns false after an error. */
static bool acknowledge(struct channel *channel, uint64_t generation)
{
    struct channel_control *own = channel->memory.own;
    const struct channel_control *peer = peer_control(channel);
    uint64_t format = word_load(&peer->format);
    uint64_t ring_bytes = word_load(&peer->ring_bytes);

    channel->peer = generation;
    if (fail_if(channel, format != CHANNEL_FORMAT_MESSAGES, CHANNEL_ERROR_FORMAT, format) ||
        fail_if(channel, ring_bytes != channel->memory.ring_bytes, CHANNEL_ERROR_RING_BYTES,
                ring_bytes)) {
        return false;
    }
    word_store(&own->connected, 0);
    word_store(&own->start, published(channel));
    word_store_release(&own->acknowledged, generation);
    channel_notify_peer(channel);
    return true;
}

/* Begins to send if the peer is connected, too. */
static void begin_sending(struct channel *channel, uint64_t generation)
{
    const struct channel_control *peer = peer_control(channel);

    (void)generation;
    if (!channel->out.is_open && word_load(&peer->connected) == channel->generation) {
        ring_producer_begin(&channel->out, channel->memory.own, peer, channel->memory.ring_bytes,
                            published(channel));
    }
}

/* Connects if the peer has acknowledged this life. `generation`: the peer's, acknowledged. */
static void connect(struct channel *channel, uint64_t generation)
{
    struct channel_control *own = channel->memory.own;
    const struct channel_control *peer = peer_control(channel);
    uint64_t start;

    /* Acquire: the start is the one of this connection. */
    if (word_load_acquire(&peer->acknowledged) != channel->generation) {
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
    begin_sending(channel, generation);
}

static void acknowledge_and_connect(struct channel *channel, uint64_t generation)
{
    if (acknowledge(channel, generation)) {
        connect(channel, generation);
    }
}

/* The peer's life ended. If its section still has the generation of that life, channel_accept()
 * waits for another one. */
static void begin_ending(struct channel *channel, uint64_t generation)
{
    channel->ended = generation == channel->peer ? generation : 0;
    set_state(channel, CHANNEL_ENDING);
    ring_producer_end(&channel->out);
}

/* The peer's life, as its generation and the state table show it. */
enum peer_life {
    PEER_LIFE_NONE,         /* it has begun none, or none after the one that ended */
    PEER_LIFE_NEW,          /* not acknowledged */
    PEER_LIFE_ACKNOWLEDGED, /* and present in the state table */
    PEER_LIFE_ABSENT,       /* acknowledged, but absent in the state table */
    PEER_LIVES
};

static enum peer_life observe_peer(const struct channel *channel, uint64_t *generation)
{
    const uint32_t *state = channel->memory.peer_state;

    /* Acquire: format and size of the ring are those of a new life. The produced index of the last
     * life no longer changes. */
    *generation = word_load_acquire(&peer_control(channel)->generation);
    if (*generation == 0 || *generation == channel->ended) {
        return PEER_LIFE_NONE;
    }
    if (*generation != channel->peer) {
        return PEER_LIFE_NEW;
    }
    return state != NULL && word_load_acquire32(state) == 0 ? PEER_LIFE_ABSENT
                                                            : PEER_LIFE_ACKNOWLEDGED;
}

/* The table above, for the states in which the peer's life is observed. In CONNECTING the state
 * table does not count: if the peer is absent, the next call ends the connection. */
static void (*const actions[][PEER_LIVES])(struct channel *channel, uint64_t generation) = {
    [CHANNEL_CONNECTING] =
        {
            [PEER_LIFE_NEW] = acknowledge_and_connect,
            [PEER_LIFE_ACKNOWLEDGED] = connect,
            [PEER_LIFE_ABSENT] = connect,
        },
    [CHANNEL_CONNECTED] =
        {
            [PEER_LIFE_NONE] = begin_ending,
            [PEER_LIFE_NEW] = begin_ending,
            [PEER_LIFE_ACKNOWLEDGED] = begin_sending,
            [PEER_LIFE_ABSENT] = begin_ending,
        },
};

/* Returns true if the peer does not connect with this life. It may have taken this generation for
 * that of a malicious life before, whose words it read meanwhile. */
static bool is_refused(const struct channel *channel)
{
    /* Relaxed: a peer refuses a life before it begins its own next one, which this side has seen.
     */
    return word_load(&peer_control(channel)->refused) == channel->generation;
}

/* Observes the peer's life, in CONNECTING or CONNECTED, and acts on it. */
static void follow_peer(struct channel *channel)
{
    uint64_t generation;
    enum peer_life life = observe_peer(channel, &generation);

    if (channel->state == CHANNEL_CONNECTING && life != PEER_LIFE_NONE && is_refused(channel)) {
        announce_life(channel);
        life = PEER_LIFE_NEW;
    }
    if (actions[channel->state][life] != NULL) {
        actions[channel->state][life](channel, generation);
    }
}

/* Begins a life, and acknowledges the peer's, if it has one. `violator`: see set_violator(). */
static void begin_life(struct channel *channel, uint64_t violator)
{
    set_violator(channel, violator);
    announce_life(channel);
    follow_peer(channel);
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
     * messages up to this position. Only a malicious life leaves one that is not aligned. */
    if (published(channel) % CHANNEL_ALIGNMENT != 0) {
        word_store(&own->produced, published(channel) & CHANNEL_POSITION_BITS);
    }
    word_store(&own->armed, 0);
    begin_life(channel, 0);
    return true;
}

void channel_reset(struct channel *channel)
{
    begin_life(channel, channel->state == CHANNEL_FAILED ? channel->peer : 0);
}

void channel_close(struct channel *channel)
{
    set_violator(channel, 0);
    announce_life(channel);
    set_state(channel, CHANNEL_ENDED);
}

/* Tells the peer what was released below a quarter of the ring, if it waits for space. Called
 * before the program may wait. */
static void announce_space(struct channel *channel)
{
    if (ring_producer_waits(&channel->in)) {
        channel_notify_peer(channel);
    }
}

/* Observes errors and the peer's life, and returns the state. */
static enum channel_state observe(struct channel *channel)
{
    if (channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_ENDING) {
        if (channel->in.error.kind != CHANNEL_ERROR_NONE) {
            fail(channel, &channel->in.error);
        } else if (channel->out.error.kind != CHANNEL_ERROR_NONE) {
            fail(channel, &channel->out.error);
        }
    }
    if (channel->state == CHANNEL_CONNECTING || channel->state == CHANNEL_CONNECTED) {
        follow_peer(channel);
    }
    return channel->state;
}

enum channel_state channel_update(struct channel *channel)
{
    announce_space(channel);
    return observe(channel);
}

void channel_accept(struct channel *channel)
{
    if (channel->state == CHANNEL_ENDING || channel->state == CHANNEL_ENDED) {
        ring_consumer_end(&channel->in);
        set_state(channel, CHANNEL_CONNECTING);
        follow_peer(channel);
    }
}

uint8_t *channel_send_slowly(struct channel *channel, uint64_t length)
{
    uint8_t *place =
        observe(channel) == CHANNEL_CONNECTED ? ring_reserve(&channel->out, length) : NULL;

    if (place == NULL) {
        announce_space(channel);
    }
    return place;
}

const uint8_t *channel_receive_slowly(struct channel *channel, uint64_t *length, uint32_t *tag)
{
    const uint8_t *content;

    announce_space(channel);
    if (observe(channel) != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING) {
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
