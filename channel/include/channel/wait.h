/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for channels, with a deadline. A side that is about to sleep says so in its section, and
 * checks its channels once more. Only a side that says so is notified by its peer's doorbell. A
 * side that has a processor for itself may watch instead: it says nothing, and the peer rings no
 * doorbell. Context: threads.
 */
#ifndef CHANNEL_WAIT_H
#define CHANNEL_WAIT_H

#include "channel/broadcast.h"
#include "channel/connection.h"
#include "channel/linkage.h"
#include "channel/value.h"

CHANNEL_C_BEGIN

/* An event that a thread waits for, made by one of the functions below. A wait for messages or
 * space contains the state of the channel at that time, and is over when the channel has another
 * state. So make a new one before each call of channel_wait_any() or channel_watch_any(). */
struct channel_wait {
    struct channel_control *own; /* control page of this side; NULL: the wait sets no flags */
    uint64_t flags;              /* CHANNEL_WAITS_FOR_* */
    bool (*is_ready)(const struct channel_wait *wait);
    const uint64_t *word; /* word of the peer, which changes when the wait is over */
    void *object;
    uint64_t length;
    enum channel_state state;
};

/* The wait is over when a message can be received, or when the channel's state changes. In
 * CHANNEL_ENDED and CHANNEL_FAILED it is over at once: nothing comes before channel_accept() or
 * channel_reset() is called. */
struct channel_wait channel_wait_for_message(struct channel *channel);

/* The wait is over when a message of `length` bytes can be sent, or when the channel's state
 * changes. `length`: up to channel_content_max(). It is over at once in the states in which nothing
 * can be sent: those two, and CHANNEL_ENDING. */
struct channel_wait channel_wait_for_space(struct channel *channel, uint64_t length);

/* The wait is over when there is a newer value than the one that was read last, or at once if the
 * writer has violated the format. */
struct channel_wait channel_wait_for_value(struct value_reader *reader);

/* The wait is over when there are messages of a one-way channel after the last received one, or at
 * once if the sender has violated the format. The
 * receiver can't say that it waits. So unless the sender rings its doorbell for each message, the
 * sleeper has to end its sleep from time to time. */
struct channel_wait channel_wait_for_broadcast(struct broadcast_receiver *receiver);

/* Waits until one of `count` waits is over, and returns the index of the first one that is over.
 * Returns `count` if the deadline has passed. Clock and unit of the deadline are those of the
 * sleeper. Several waits may be for the same channel. */
size_t channel_wait_any(const struct channel_wait *waits, size_t count,
                        const struct channel_sleeper *sleeper, uint64_t deadline);

/* Does the same, but watches the channels instead of sleeping. A single wait for messages or space
 * ends as soon as the peer stores its index. A single wait for a value may last as long as a pause
 * of the watcher. With several waits the watcher does not pause. */
size_t channel_watch_any(const struct channel_wait *waits, size_t count,
                         const struct channel_watcher *watcher, uint64_t deadline);

CHANNEL_C_END

#endif
