/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench: throughput one way, then round trips. The listening side answers messages with the tag
 * TAG_ECHO and drops the others. Both sides poll for POLL_NS before they sleep; a message with the
 * tag TAG_POLL changes this for the listening side.
 */
#include "command.h"

#include "channel/copy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_DEFAULT UINT64_C(1000000)
#define POLL_NS       UINT64_C(50000)
#define NANOSECONDS   UINT64_C(1000000000) /* in a second */

struct side {
    struct linux_endpoint *endpoint;
    const struct options *options;
    uint64_t poll_ns; /* for which it polls before it sleeps */
};

/* Returns when the side ends to poll, if it begins now. */
static uint64_t poll_end(const struct side *side)
{
    uint64_t end = linux_now() + side->poll_ns;
    uint64_t deadline = command_deadline(side->options);

    return end < deadline ? end : deadline;
}

/* Returns the next message in place: at first it polls. NULL if the peer ended, or the time passed.
 */
static const uint8_t *poll_message(const struct side *side, uint64_t *length, uint32_t *tag)
{
    struct channel *channel = linux_channel(side->endpoint);
    uint64_t until = 0;
    const uint8_t *content;

    while ((content = channel_receive_begin(channel, length, tag)) == NULL) {
        if (channel->state != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING) {
            return NULL;
        }
        until = until == 0 ? poll_end(side) : until;
        if (linux_now() > until &&
            !linux_wait_for_message(side->endpoint, command_deadline(side->options))) {
            return NULL;
        }
    }
    return content;
}

/* Returns the place for a message: at first it polls. NULL if the peer ended, or the time passed.
 */
static uint8_t *poll_space(const struct side *side, uint64_t length)
{
    struct channel *channel = linux_channel(side->endpoint);
    uint64_t until = 0;
    uint8_t *place;

    while ((place = channel_send_begin(channel, length)) == NULL) {
        if (channel->state != CHANNEL_CONNECTED) {
            return NULL;
        }
        until = until == 0 ? poll_end(side) : until;
        if (linux_now() > until &&
            !linux_wait_for_space(side->endpoint, length, command_deadline(side->options))) {
            return NULL;
        }
    }
    return place;
}

/* Reads all of a message, as a program that uses it. */
static void read_content(const uint8_t *content, uint64_t length)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i + sizeof(uint64_t) <= length; i += sizeof(uint64_t)) {
        sum += *channel_constant_word(content + i);
    }
    __asm__ volatile("" : : "r"(sum)); /* so that the compiler keeps the loads */
}

static int answer(struct side *side)
{
    struct channel *channel = linux_channel(side->endpoint);
    const uint8_t *content;
    uint64_t length;
    uint32_t tag;

    while ((content = poll_message(side, &length, &tag)) != NULL) {
        read_content(content, length);
        if (tag == TAG_ECHO) {
            uint8_t *place = poll_space(side, length);

            if (place == NULL) {
                break;
            }
            memcpy(place, content, (size_t)length);
            channel_send_end(channel, length, TAG_ECHO);
        }
        if (tag == TAG_POLL && length == sizeof(side->poll_ns)) {
            memcpy(&side->poll_ns, content, sizeof(side->poll_ns));
        }
        channel_receive_end(channel);
    }
    return channel->state == CHANNEL_CONNECTED || channel->state == CHANNEL_FAILED
               ? command_fail_ended(channel)
               : STATUS_DONE;
}

/* Sends a message. Returns false if the peer ended. */
static bool put(const struct side *side, uint64_t length, uint32_t tag)
{
    uint8_t *place = poll_space(side, length);

    if (place != NULL) {
        memset(place, 0x5a, (size_t)length);
        channel_send_end(linux_channel(side->endpoint), length, tag);
    }
    return place != NULL;
}

/* Waits for one answer, and reads it. Returns false if the peer ended. */
static bool take_answer(const struct side *side)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = poll_message(side, &length, &tag);

    if (content == NULL) {
        return false;
    }
    read_content(content, length);
    channel_receive_end(linux_channel(side->endpoint));
    return true;
}

/* Sleeps until the time of linux_now(). */
static void sleep_until(uint64_t time)
{
    const struct timespec until = {
        .tv_sec = (time_t)(time / NANOSECONDS),
        .tv_nsec = (long)(time % NANOSECONDS),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* Sends a message one way, `number` intervals after the first one. */
static bool put_in_time(const struct side *side, uint64_t begin, uint64_t number, uint32_t tag)
{
    if (side->options->interval != 0) {
        sleep_until(begin + number * side->options->interval);
    }
    return put(side, side->options->bytes, tag);
}

static bool measure_throughput(const struct side *side, uint64_t count)
{
    uint64_t length = side->options->bytes;
    uint64_t begin = linux_now();
    double seconds;

    for (uint64_t i = 1; i < count; i++) {
        if (!put_in_time(side, begin, i - 1, TAG_MESSAGE)) {
            return false;
        }
    }
    if (!put_in_time(side, begin, count - 1, TAG_ECHO) || !take_answer(side)) {
        return false;
    }
    seconds = (double)(linux_now() - begin) / 1e9;
    printf("throughput: %llu messages of %llu bytes in %.3f s: %.0f messages/s, %.3f GB/s\n",
           (unsigned long long)count, (unsigned long long)length, seconds, (double)count / seconds,
           (double)count * (double)length / seconds / 1e9);
    return true;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool measure_round_trips(const struct side *side)
{
    static uint64_t times[ROUND_TRIPS_MAX];
    uint64_t trips = side->options->trips;

    if (trips == 0) {
        return true;
    }
    for (uint64_t i = 0; i < trips; i++) {
        uint64_t begin = linux_now();

        if (!put(side, side->options->bytes, TAG_ECHO) || !take_answer(side)) {
            return false;
        }
        times[i] = linux_now() - begin;
    }
    qsort(times, trips, sizeof(times[0]), compare);
    printf("round trip: minimum %llu ns, median %llu ns, 99.9 %% %llu ns, maximum %llu ns\n",
           (unsigned long long)times[0], (unsigned long long)times[trips / 2],
           (unsigned long long)times[trips - 1 - trips / 1000],
           (unsigned long long)times[trips - 1]);
    return true;
}

int measure(struct linux_endpoint *endpoint, const struct options *options)
{
    uint64_t largest = channel_content_max(linux_endpoint_ring_bytes(endpoint));
    struct side side = {.endpoint = endpoint, .options = options, .poll_ns = POLL_NS};
    int status = command_connect(endpoint, options, command_deadline(options));

    if (status != STATUS_DONE) {
        return status;
    }
    if (options->listens) {
        return answer(&side);
    }
    if (options->bytes > largest) {
        return command_fail("a message of %llu bytes is larger than this channel's largest, %llu",
                            (unsigned long long)options->bytes, (unsigned long long)largest);
    }
    if (!measure_throughput(&side, options->count == 0 ? COUNT_DEFAULT : options->count) ||
        !measure_round_trips(&side)) {
        return command_fail_ended(linux_channel(endpoint));
    }
    return STATUS_DONE;
}
