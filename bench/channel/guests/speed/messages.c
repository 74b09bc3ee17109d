/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages through a channel (speed.h). The end that answers also serves `bulkhead-channel bench`
 * (channel/linux/command/measure.c), whose tags these are, except the last three. */
#include "kernel/thread.h"
#include "kernel/time.h"
#include "speed.h"
#include <channel/wait.h>
#include <string.h>

#define TAG_MESSAGE 0u
#define TAG_ECHO    2u /* to be sent back */
#define TAG_POLL    3u /* content: nanoseconds for which the receiver polls before it sleeps */
/* To be answered by a message of the same length. Only the first word of both is written and read,
 * as where a device or another program has filled a message. */
#define TAG_IN_PLACE 4u
#define TAG_USAGE    5u /* to be answered by a struct usage */
#define TAG_SERVED   6u /* to be answered by a struct usage_span */

static struct {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct channel channel;
    uint64_t poll_ns;
} side;

enum result messages_open(uint64_t poll_ns)
{
    enum result result = partition_channel_open(&side.place, NULL);

    side.poll_ns = poll_ns;
    partition_waiter_init(&side.waiter);
    if (result == RESULT_OK) {
        result = partition_waiter_add(&side.waiter, &side.place);
    }
    return result == RESULT_OK ? partition_channel_begin(&side.place, &side.channel) : result;
}

unsigned messages_end(void)
{
    return side.place.end;
}

static void sleep_for(struct channel_wait wait)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&side.waiter);

    channel_accept(&side.channel);
    (void)channel_wait_any(&wait, 1, &sleeper, DEADLINE_NONE);
}

/* Returns the next message in place: at first it polls, then it sleeps. */
static const uint8_t *receive(uint64_t *length, uint32_t *tag)
{
    const uint8_t *content = channel_receive_begin(&side.channel, length, tag);
    uint64_t until = content == NULL ? time_after(side.poll_ns) : 0;

    while (content == NULL) {
        if (time_now() >= until) {
            sleep_for(channel_wait_for_message(&side.channel));
        }
        content = channel_receive_begin(&side.channel, length, tag);
    }
    return content;
}

/* Returns the place for a message: at first it polls, then it sleeps. */
static uint8_t *reserve(uint32_t length)
{
    uint8_t *place = channel_send_begin(&side.channel, length);
    uint64_t until = place == NULL ? time_after(side.poll_ns) : 0;

    while (place == NULL) {
        if (time_now() >= until) {
            sleep_for(channel_wait_for_space(&side.channel, length));
        }
        place = channel_send_begin(&side.channel, length);
    }
    return place;
}

/* Returns the bytes of a message that its receiver reads. */
static size_t content_bytes(uint64_t length, uint32_t tag)
{
    return tag == TAG_IN_PLACE && length > sizeof(uint64_t) ? sizeof(uint64_t) : (size_t)length;
}

static void send_in_place(uint64_t bytes)
{
    uint8_t *place = reserve((uint32_t)bytes);

    memset(place, 0x5a, content_bytes(bytes, TAG_IN_PLACE));
    channel_send_end(&side.channel, bytes, TAG_IN_PLACE);
}

static void send_copy(const void *content, uint32_t bytes, uint32_t tag)
{
    memcpy(reserve(bytes), content, bytes);
    channel_send_end(&side.channel, bytes, tag);
}

static void answer_usage(uint32_t tag)
{
    if (tag == TAG_USAGE) {
        const struct usage usage = usage_now();

        send_copy(&usage, sizeof(usage), tag);
    } else if (tag == TAG_SERVED) {
        const struct usage_span served = tcp_served();

        send_copy(&served, sizeof(served), tag);
    }
}

void messages_answer(void)
{
    for (;;) {
        uint64_t length;
        uint32_t tag;
        const uint8_t *content = receive(&length, &tag);

        read_content(content, content_bytes(length, tag));
        if (tag == TAG_IN_PLACE) {
            send_in_place(length);
        }
        if (tag == TAG_ECHO) {
            send_copy(content, (uint32_t)length, TAG_ECHO);
        }
        if (tag >= TAG_USAGE) {
            answer_usage(tag);
        }
        if (tag == TAG_POLL && length == sizeof(side.poll_ns)) {
            memcpy(&side.poll_ns, content, sizeof(side.poll_ns));
        }
        channel_receive_end(&side.channel);
    }
}

static void wait_for_answer(void)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = receive(&length, &tag);

    read_content(content, content_bytes(length, tag));
    channel_receive_end(&side.channel);
}

/* Writes each byte of the message where the receiver reads it. */
static void send(uint32_t bytes, uint32_t tag)
{
    uint8_t *place = reserve(bytes);

    if (bytes == sizeof(uint64_t)) {
        memset(place, 0x5a, sizeof(uint64_t));
    } else {
        memset(place, 0x5a, bytes);
    }
    channel_send_end(&side.channel, bytes, tag);
}

void messages_set_poll(uint64_t poll_ns)
{
    send_copy(&poll_ns, sizeof(poll_ns), TAG_POLL);
    side.poll_ns = poll_ns;
    send(sizeof(poll_ns), TAG_ECHO);
    wait_for_answer();
}

static void wait_until(uint64_t time)
{
    if (side.poll_ns == 0 && time_now() < time) {
        thread_sleep_until(time);
    }
    while (time_now() < time) {
    }
}

struct measured messages_stream(uint32_t bytes, uint64_t duration, uint64_t period)
{
    uint64_t begin = time_now();
    uint64_t batch = period == 0 ? messages_per_look(bytes) : 1;
    uint64_t messages = 0;

    while (time_now() - begin < duration) {
        if (period != 0) {
            wait_until(begin + messages * period);
        }
        for (uint64_t i = 0; i < batch; i++) {
            send(bytes, TAG_MESSAGE);
        }
        messages += batch;
    }
    send(bytes, TAG_ECHO);
    wait_for_answer();
    return (struct measured){.messages = messages + 1, .nanoseconds = time_now() - begin};
}

struct measured messages_round_trips(uint32_t bytes, uint32_t count)
{
    count = count < ROUND_TRIPS_MAX ? count : ROUND_TRIPS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin = time_now();

        send(bytes, TAG_ECHO);
        wait_for_answer();
        set_round_trip(i, time_now() - begin);
    }
    return (struct measured){.messages = count, .nanoseconds = median_round_trip(count)};
}

struct measured messages_round_trips_in_place(uint32_t bytes, uint32_t count)
{
    count = count < ROUND_TRIPS_MAX ? count : ROUND_TRIPS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin = time_now();

        send_in_place(bytes);
        wait_for_answer();
        set_round_trip(i, time_now() - begin);
    }
    return (struct measured){.messages = count, .nanoseconds = median_round_trip(count)};
}

static void receive_copy(void *content, size_t bytes)
{
    uint64_t length;
    uint32_t tag;

    memcpy(content, receive(&length, &tag), bytes);
    channel_receive_end(&side.channel);
}

void messages_usages(struct usage usages[ENDS])
{
    send(sizeof(uint64_t), TAG_USAGE);
    receive_copy(&usages[1], sizeof(usages[1]));
    usages[0] = usage_now();
}

void messages_served(struct usage_span *served)
{
    send(sizeof(uint64_t), TAG_SERVED);
    receive_copy(served, sizeof(*served));
}

static const struct channel_control *control(const void *section)
{
    return section;
}

uint64_t messages_notifications(void)
{
    return word_load(&control(side.place.own)->notifications) +
           word_load(&control(side.place.peer)->notifications);
}

uint64_t messages_sleeps(void)
{
    return word_load(&control(side.place.own)->sleeps) +
           word_load(&control(side.place.peer)->sleeps);
}
