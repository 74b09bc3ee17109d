/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of its system that a channel uses: a doorbell, and ways to wait. */
#ifndef CHANNEL_PORT_H
#define CHANNEL_PORT_H

#include <stdbool.h>
#include <stdint.h>

#define CHANNEL_FOREVER UINT64_MAX

struct channel;

struct channel_port {
    void *context;

    /* Rings the peer's doorbell, after all earlier stores are visible to the peer. Must not block.
     * NULL: the peer looks by itself. */
    void (*notify)(void *context);

    /* Called after each change of the channel's state, and when a life begins. Must not block, nor
     * call functions of the channel. NULL: nobody observes it. */
    void (*observe)(void *context, const struct channel *channel);
};

/* A sleeper: one thread that waits for one or more channels. */
struct channel_sleeper {
    void *context;

    /* Called before the channels are looked at the last time: from now on a doorbell of any of the
     * sleeper's channels ends sleep(), also if it rang before the call of sleep(). If it clears a
     * doorbell that rang, it has acquire order: later loads see what the peer stored before. */
    void (*prepare)(void *context);

    /* Returns after a doorbell, and then later loads see what the peer stored before; or when the
     * clock has reached `deadline`, or earlier. Clock and unit are the system's; CHANNEL_FOREVER:
     * no deadline. Returns false if the deadline passed. */
    bool (*sleep)(void *context, uint64_t deadline);

    /* Sleeps for about a millisecond, or until the deadline, whether or not a doorbell rings. A
     * wait calls it after a sleep that ended for no reason, if many sleeps before did, too. So a
     * malicious peer wakes the sleeper once in a millisecond. If no doorbell ended the sleep, it
     * may return at once. Returns false if the deadline passed. NULL: the sleeper never rests. */
    bool (*rest)(void *context, uint64_t deadline);

    /* Returns true if the clock has reached `deadline`. Only call.h calls it, because messages that
     * are no response must not keep a client beyond its deadline; otherwise it may be NULL. */
    bool (*has_passed)(void *context, uint64_t deadline);
};

/* A watcher: one thread that waits for one or more channels, and keeps its processor meanwhile. */
struct channel_watcher {
    void *context;

    /* Returns when the word does not have the value, or earlier. It returns after a bounded time,
     * because the peer's life may end without a change of the word. NULL: no word; it returns at
     * once. The word is in memory that this side can only read. */
    void (*pause)(void *context, const uint64_t *word, uint64_t value);

    /* Returns true if the clock has reached `deadline`. Clock and unit are the system's;
     * CHANNEL_FOREVER: no deadline. */
    bool (*has_passed)(void *context, uint64_t deadline);
};

#endif
