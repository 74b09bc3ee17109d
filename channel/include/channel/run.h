/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs: messages of one size and with one tag, in place, that are published at once with a single
 * header. A ring carries small messages in half the bytes by this: samples of a sensor, or
 * pointers into other memory. The receiver gets each message as any other, single or in batches.
 *
 *     struct send_run run = channel_send_run_begin(channel, length, tag);
 *
 *     while (has_more && (place = send_run_reserve(&run)) != NULL) {
 *         (write the message)
 *         send_run_commit(&run);
 *     }
 *     channel_send_run_end(channel, &run);
 *
 * A run ends early as a batch does (batch.h), and after CHANNEL_RUN_COUNT_MAX messages. Between
 * begin and end of a run no other function may be called for the same direction of the channel.
 * Contexts are those of ring.h and connection.h.
 */
#ifndef CHANNEL_RUN_H
#define CHANNEL_RUN_H

#include "channel/batch.h"

struct send_run {
    uint8_t *header;
    uint8_t *next;  /* place of the next content */
    uint8_t *end;   /* of the free bytes that the run may use */
    uint64_t step;  /* bytes from one content to the next */
    uint64_t kind;  /* the header without the number of messages */
    uint64_t count; /* of committed messages */
};

/* Internal: the run that begins at the ring's position, where there is space for a message. */
BATCH_INLINE struct send_run ring_send_run(const struct ring_producer *producer, uint64_t length,
                                           uint32_t tag)
{
    uint8_t *contents = producer->next + sizeof(struct channel_message);
    uint64_t space = (uint64_t)(producer->end - contents);
    uint64_t step = ring_run_step(length);
    uint64_t most = CHANNEL_RUN_COUNT_MAX * step;

    return (struct send_run){
        .header = producer->next,
        .next = contents,
        .end = contents + (space < most ? space : most),
        .step = step,
        .kind = (uint64_t)tag << 32 | CHANNEL_RUN | length,
    };
}

/* Internal. Returns whether a run may have such messages. */
BATCH_INLINE bool ring_run_may_have(uint64_t length)
{
    return length - 1 < CHANNEL_RUN_LENGTH_MAX;
}

/* Begins a run of messages of `length` bytes each, 1 to CHANNEL_RUN_LENGTH_MAX. The run is empty if
 * there is no space for a first message, or if the length is another: see ring_reserve(). */
BATCH_INLINE struct send_run ring_send_run_begin(struct ring_producer *producer, uint64_t length,
                                                 uint32_t tag)
{
    if (!ring_run_may_have(length) || ring_reserve(producer, length) == NULL) {
        return (struct send_run){.step = 1};
    }
    return ring_send_run(producer, length, tag);
}

/* Returns the place for the next message of the run, aligned to 8 bytes. NULL if the run has no
 * space for it. It stays reserved until send_run_commit(). */
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

/* Shows the committed messages to the consumer. The run is not empty. */
BATCH_INLINE void ring_send_run_end(struct ring_producer *producer, const struct send_run *run)
{
    word_store(channel_word(run->header), run->kind | run->count << CHANNEL_RUN_COUNT_SHIFT);
    producer->next = run->next;
    word_store(producer->sent, word_load(producer->sent) + run->count);
    ring_publish(producer);
}

/* Begins a run of messages of `length` bytes each, 1 to CHANNEL_RUN_LENGTH_MAX. The run is empty if
 * there is no space for a first message, or if the length is another: see channel_send_begin(). */
BATCH_INLINE struct send_run channel_send_run_begin(struct channel *channel, uint64_t length,
                                                    uint32_t tag)
{
    if (!ring_run_may_have(length) || channel_send_begin(channel, length) == NULL) {
        return (struct send_run){.step = 1};
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

#endif
