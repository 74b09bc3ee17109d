/* SPDX-License-Identifier: BSD-2-Clause */
/* The system's functions that a channel uses: a doorbell, and ways to wait. */
#ifndef CHANNEL_PORT_H
#define CHANNEL_PORT_H

#include "channel/linkage.h"
#include <stdbool.h>
#include <stdint.h>

CHANNEL_C_BEGIN

#define CHANNEL_FOREVER UINT64_MAX

struct channel;

struct channel_port {
    void *context;

    /* Rings the peer's doorbell, after all earlier stores are visible to the peer. Must not block.
     * NULL: the peer polls. */
    void (*notify)(void *context);

    /* Called after each change of the channel's state, and when a life begins. Must not block, nor
     * call functions of the channel. NULL: the channel has no observer. */
    void (*observe)(void *context, const struct channel *channel);
};

/* A sleeper: one thread that waits for one or more channels. */
struct channel_sleeper {
    void *context;

    /* Called before the last check of the channels. From then on, a doorbell of any of the
     * sleeper's channels ends sleep(), even if it rings before sleep() is called. If the function
     * clears a doorbell that rang, it has acquire order: later loads see the earlier stores of the
     * peer. */
    void (*prepare)(void *context);

    /* Sleeps until a doorbell rings, or until the clock has reached `deadline`. May return earlier.
     * After a doorbell, later loads see the earlier stores of the peer. Clock and unit are the
     * system's; CHANNEL_FOREVER: no deadline. Returns false if the deadline has passed. */
    bool (*sleep)(void *context, uint64_t deadline);

    /* Sleeps for about a millisecond, or until the deadline, whether or not a doorbell rings. A
     * wait calls it after a sleep that ended without a reason, if many sleeps of the wait did so
     * before. So a malicious peer wakes the sleeper at most once in a millisecond. May return at
     * once if no doorbell ended the sleep. Returns false if the deadline has passed. NULL: the
     * sleeper never rests. */
    bool (*rest)(void *context, uint64_t deadline);

    /* Returns true if the clock has reached `deadline`. May be NULL unless call.h is used: there it
     * keeps messages that are no response from delaying a client beyond its deadline. */
    bool (*has_passed)(void *context, uint64_t deadline);
};

/* A watcher: one thread that waits for one or more channels, and keeps its processor meanwhile. */
struct channel_watcher {
    void *context;

    /* Returns when the word does not have the value. May return earlier, and returns after a
     * bounded time, because the peer's life may end without a change of the word. If `word` is
     * NULL, returns at once. The word is in memory that this side can only read. */
    void (*pause)(void *context, const uint64_t *word, uint64_t value);

    /* Returns true if the clock has reached `deadline`. Clock and unit are the system's;
     * CHANNEL_FOREVER: no deadline. */
    bool (*has_passed)(void *context, uint64_t deadline);
};

CHANNEL_C_END

#endif
