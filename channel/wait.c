/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/wait.h"

/* Returns true if nothing can come before the program calls channel_accept() or channel_reset(). */
static bool is_over(const struct channel *channel)
{
    return channel->state == CHANNEL_ENDED || channel->state == CHANNEL_FAILED;
}

static bool has_message(const struct channel_wait *wait)
{
    struct channel *channel = wait->object;
    uint64_t length;
    uint32_t tag;

    return channel_receive_begin(channel, &length, &tag) != NULL || channel->state != wait->state ||
           is_over(channel);
}

static bool has_space(const struct channel_wait *wait)
{
    struct channel *channel = wait->object;

    return channel_send_begin(channel, wait->length) != NULL || channel->state != wait->state ||
           channel->state == CHANNEL_ENDING || is_over(channel);
}

static bool has_value(const struct channel_wait *wait)
{
    const struct value_reader *reader = wait->object;

    return value_is_new(reader) || reader->error.kind != CHANNEL_ERROR_NONE;
}

static bool has_broadcast(const struct channel_wait *wait)
{
    const struct broadcast_receiver *receiver = wait->object;

    return broadcast_is_new(receiver) || receiver->error.kind != CHANNEL_ERROR_NONE;
}

static const struct channel_control *peer_of(const struct channel *channel)
{
    return channel->memory.peer;
}

struct channel_wait channel_wait_for_message(struct channel *channel)
{
    return (struct channel_wait){
        .own = channel->memory.own,
        .flags = CHANNEL_WAITS_FOR_MESSAGE,
        .is_ready = has_message,
        .word = &peer_of(channel)->produced,
        .object = channel,
        .state = channel->state,
    };
}

struct channel_wait channel_wait_for_space(struct channel *channel, uint64_t length)
{
    return (struct channel_wait){
        .own = channel->memory.own,
        .flags = CHANNEL_WAITS_FOR_SPACE,
        .is_ready = has_space,
        .word = &peer_of(channel)->consumed,
        .object = channel,
        .length = length,
        .state = channel->state,
    };
}

struct channel_wait channel_wait_for_value(struct value_reader *reader)
{
    return (struct channel_wait){
        .own = reader->own,
        .flags = CHANNEL_WAITS_FOR_MESSAGE,
        .is_ready = has_value,
        .word = &reader->peer->latest,
        .object = reader,
    };
}

struct channel_wait channel_wait_for_broadcast(struct broadcast_receiver *receiver)
{
    return (struct channel_wait){
        .is_ready = has_broadcast,
        .word = &receiver->peer->produced,
        .object = receiver,
    };
}

/* Tells the peers that this side waits for nothing, but for what it is armed for (format.h). */
static void clear_flags(const struct channel_wait *waits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (waits[i].own != NULL) {
            word_store(&waits[i].own->waits, word_load(&waits[i].own->armed));
        }
    }
}

/* Tells the peers for what this side waits. Several waits may have one control page, as those for a
 * channel's messages and for its space do, so the flags are added to the word one by one. A peer
 * that reads the word meanwhile may not ring: the caller looks at the channels afterwards. */
static void set_flags(const struct channel_wait *waits, size_t count)
{
    clear_flags(waits, count);
    for (size_t i = 0; i < count; i++) {
        if (waits[i].own != NULL) {
            word_store(&waits[i].own->waits, word_load(&waits[i].own->waits) | waits[i].flags);
        }
    }
}

static void count_sleep(const struct channel_wait *waits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (waits[i].own != NULL) {
            waits[i].own->sleeps++;
        }
    }
}

/* Returns the first wait that is over, or `count`. */
static size_t find_ready(const struct channel_wait *waits, size_t count)
{
    size_t i = 0;

    while (i < count && !waits[i].is_ready(&waits[i])) {
        i++;
    }
    return i;
}

/* Number of sleeps in one wait after which the sleeper rests if a sleep ends and no wait is over. A
 * peer that follows the format causes few such sleeps: it rings when a wait has just ended, or for
 * less space than the wait needs. */
#define IDLE_SLEEPS 16u

/* Rests if the last sleep ended and no wait is over. The flags are clear meanwhile, so the peer
 * does not ring for this wait. Returns false if the deadline passed. */
static bool rest_if_idle(const struct channel_wait *waits, size_t count,
                         const struct channel_sleeper *sleeper, uint64_t deadline)
{
    if (sleeper->rest == NULL || find_ready(waits, count) < count) {
        return true;
    }
    clear_flags(waits, count);
    return sleeper->rest(sleeper->context, deadline);
}

size_t channel_wait_any(const struct channel_wait *waits, size_t count,
                        const struct channel_sleeper *sleeper, uint64_t deadline)
{
    size_t ready = find_ready(waits, count);
    unsigned sleeps = 0;
    bool has_time = true;

    if (ready < count) {
        return ready;
    }
    do {
        sleeper->prepare(sleeper->context);
        set_flags(waits, count);
        /* The flags are visible before the peers' indices are read again: see
         * ring_consumer_waits(). */
        word_fence();
        ready = find_ready(waits, count);
        if (ready < count) {
            break;
        }
        count_sleep(waits, count);
        has_time = sleeper->sleep(sleeper->context, deadline);
        if (has_time && sleeps == IDLE_SLEEPS) {
            has_time = rest_if_idle(waits, count, sleeper, deadline);
        } else {
            sleeps++;
        }
    } while (has_time);
    clear_flags(waits, count);
    return ready < count ? ready : find_ready(waits, count);
}

size_t channel_watch_any(const struct channel_wait *waits, size_t count,
                         const struct channel_watcher *watcher, uint64_t deadline)
{
    const uint64_t *word = count == 1 ? waits[0].word : NULL;
    uint64_t value;
    size_t ready;

    for (;;) {
        /* The word is loaded before find_ready() loads it again, and so sees no newer value: if the
         * peer stores the word after find_ready(), the pause ends at once. */
        value = word == NULL ? 0 : word_load(word);
        ready = find_ready(waits, count);
        if (ready < count || watcher->has_passed(watcher->context, deadline)) {
            return ready;
        }
        watcher->pause(watcher->context, word, value);
    }
}
