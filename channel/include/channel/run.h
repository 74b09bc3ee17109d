/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs: messages in place, of one size and with one tag, that are published at once with a single
 * header. With runs, a ring needs half the bytes for small messages, such as samples of a sensor or
 * pointers into other memory. The receiver gets each message like any other, alone or in a batch.
 *
 *     struct send_run run = channel_send_run_begin(channel, length, tag);
 *
 *     while (has_more && (place = send_run_reserve(&run)) != NULL) {
 *         (write the message)
 *         send_run_commit(&run);
 *     }
 *     channel_send_run_end(channel, &run);
 *
 * A run ends early under the same conditions as a batch (batch.h), and after CHANNEL_RUN_COUNT_MAX
 * messages. Between begin and end of a run no other function may be called for the same direction
 * of the channel. Contexts are those of ring.h and connection.h.
 */
#ifndef CHANNEL_RUN_H
#define CHANNEL_RUN_H

#include "channel/batch.h"
#include "channel/linkage.h"

CHANNEL_C_BEGIN

/* A run that is being sent. */
struct send_run {
    uint8_t *header; /* place of the run's header */
    uint8_t *next;   /* place of the next content */
    uint8_t *end;    /* end of the free bytes that the run may use */
    uint64_t step;   /* bytes from one content to the next */
    uint64_t kind;   /* the header without the number of messages */
    uint64_t count;  /* number of committed messages */
};

/* Internal: returns a run without messages, in which none fits. */
BATCH_INLINE struct send_run send_run_empty(void)
{
    struct send_run run = {NULL, NULL, NULL, 1, 0, 0};

    return run;
}

/* Internal: returns the run that begins at the ring's position, where there is space for a
 * message. */
BATCH_INLINE struct send_run ring_send_run(const struct ring_producer *producer, uint64_t length,
                                           uint32_t tag)
{
    uint8_t *contents = producer->next + sizeof(struct channel_message);
    uint64_t space = (uint64_t)(producer->end - contents);
    uint64_t step = ring_run_step(length);
    uint64_t most = CHANNEL_RUN_COUNT_MAX * step;
    struct send_run run = {
        producer->next,
        contents,
        contents + (space < most ? space : most),
        step,
        (uint64_t)tag << 32 | CHANNEL_RUN | length,
        0,
    };

    return run;
}

/* Internal: returns true if a run may have messages of `length` bytes. */
BATCH_INLINE bool ring_run_may_have(uint64_t length)
{
    return length - 1 < CHANNEL_RUN_LENGTH_MAX;
}

/* Begins a run of messages of `length` bytes each, 1 to CHANNEL_RUN_LENGTH_MAX. Returns an empty
 * run if the ring has no space for a first message (ring_reserve()), or if the length is out of
 * range. */
BATCH_INLINE struct send_run ring_send_run_begin(struct ring_producer *producer, uint64_t length,
                                                 uint32_t tag)
{
    if (!ring_run_may_have(length) || ring_reserve(producer, length) == NULL) {
        return send_run_empty();
    }
    return ring_send_run(producer, length, tag);
}

/* Returns the place for the next message of the run, aligned to 8 bytes. The place stays reserved
 * until send_run_commit(). Returns NULL if the run has no space for it. */
BATCH_INLINE uint8_t *send_run_reserve(const struct send_run *run)
{
    return (uint64_t)(run->end - run->next) < run->step ? NULL : run->next;
}

/* Completes the reserved message. */
BATCH_INLINE void send_run_commit(struct send_run *run)
{
    run->next += run->step;
    run->count++;
}

/* Returns the places for the next messages of the run, aligned to 8 bytes and one behind the other
 * at distances of ring_run_step() of the run's length, and sets *count to their number: at most
 * `most`, 0 if the run has no space. They stay reserved until send_run_commit_many(). */
BATCH_INLINE uint8_t *send_run_reserve_many(const struct send_run *run, uint64_t most,
                                            uint64_t *count)
{
    uint64_t space = (uint64_t)(run->end - run->next) / run->step;

    *count = space < most ? space : most;
    return run->next;
}

/* Completes the first `count` of the reserved messages. */
BATCH_INLINE void send_run_commit_many(struct send_run *run, uint64_t count)
{
    run->next += count * run->step;
    run->count += count;
}

/* Publishes the committed messages to the consumer. The run is not empty. */
BATCH_INLINE void ring_send_run_end(struct ring_producer *producer, const struct send_run *run)
{
    word_store(channel_word(run->header), run->kind | run->count << CHANNEL_RUN_COUNT_SHIFT);
    producer->next = run->next;
    word_store(producer->sent, word_load(producer->sent) + run->count);
    ring_publish(producer);
}

/* Begins a run of messages of `length` bytes each, 1 to CHANNEL_RUN_LENGTH_MAX. Returns an empty
 * run if the ring has no space for a first message (channel_send_begin()), or if the length is out
 * of range. */
BATCH_INLINE struct send_run channel_send_run_begin(struct channel *channel, uint64_t length,
                                                    uint32_t tag)
{
    if (!ring_run_may_have(length) || channel_send_begin(channel, length) == NULL) {
        return send_run_empty();
    }
    return ring_send_run(&channel->out, length, tag);
}

/* Sends the committed messages. Notifies the peer if it waits. */
BATCH_INLINE void channel_send_run_end(struct channel *channel, const struct send_run *run)
{
    if (run->count == 0) {
        return;
    }
    ring_send_run_end(&channel->out, run);
    if (__builtin_expect(ring_consumer_waits(&channel->out), false)) {
        channel_notify_peer(channel);
    }
}

CHANNEL_C_END

#endif
