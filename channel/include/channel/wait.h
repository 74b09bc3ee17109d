/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for channels, with a deadline. A side that sleeps says so in its section, and looks once
 * more before. Only then does the peer ring its doorbell. A side that has a processor for itself
 * may watch instead: it says nothing, and the peer rings no doorbell. Threads.
 */
#ifndef CHANNEL_WAIT_H
#define CHANNEL_WAIT_H

#include "channel/broadcast.h"
#include "channel/connection.h"
#include "channel/value.h"

/* A thing that a thread waits for, made by the functions below. A wait for messages or space has
 * the state of the channel at that time, and is over in any other state: make a new one before each
 * call of channel_wait_any() or channel_watch_any(). */
struct channel_wait {
    struct channel_control *own; /* NULL: the wait is for something else than a channel */
    uint64_t flags;              /* CHANNEL_WAITS_FOR_* */
    bool (*is_ready)(const struct channel_wait *wait);
    const uint64_t *word; /* of the peer: it changes when the wait is over */
    void *object;
    uint64_t length;
    enum channel_state state;
};

/* A message can be received, or the channel's state changes. */
struct channel_wait channel_wait_for_message(struct channel *channel);

/* A message of `length` bytes can be sent, or the channel's state changes. `length`: up to
 * channel_content_max(). */
struct channel_wait channel_wait_for_space(struct channel *channel, uint64_t length);

/* The value is newer than the one that was read last. */
struct channel_wait channel_wait_for_value(struct value_reader *reader);

/* There are messages of a one-way channel after the last one that was received. The receiver can't
 * say that it waits: unless the sender rings its doorbell for each message, the sleeper has to end
 * its sleep from time to time. */
struct channel_wait channel_wait_for_broadcast(struct broadcast_receiver *receiver);

/* Waits until one of `count` waits is over, and returns its index: the first one that is over.
 * Returns `count` if the deadline passed (clock and unit: those of the sleeper). Several waits may
 * be for the same channel. */
size_t channel_wait_any(const struct channel_wait *waits, size_t count,
                        const struct channel_sleeper *sleeper, uint64_t deadline);

/* The same, but watches the channels. A single wait for messages or space ends as soon as the peer
 * stores its index; one for a value may last as long as a pause of the watcher. With several waits
 * the watcher does not pause. */
size_t channel_watch_any(const struct channel_wait *waits, size_t count,
                         const struct channel_watcher *watcher, uint64_t deadline);

#endif
