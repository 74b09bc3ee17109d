/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for channels and files, in ppoll(). */
#define _GNU_SOURCE /* ppoll */
#include "endpoint.h"

#include "kind.h"
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS UINT64_C(1000000000)
#define LOOK        (NANOSECONDS / 100) /* between two looks at channels that ring no doorbell */
#define REST        (NANOSECONDS / 1000)

uint64_t linux_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

static bool has_input(const struct channel_wait *wait)
{
    struct pollfd file = {.fd = (int)wait->length, .events = POLLIN};

    return poll(&file, 1, 0) != 0;
}

struct channel_wait linux_wait_for_input(int file)
{
    return (struct channel_wait){.is_ready = has_input, .length = (uint64_t)file};
}

/* A thread that waits for several endpoints and files. */
struct poller {
    struct linux_endpoint *const *endpoints;
    const struct channel_wait *waits;
    size_t count;
    bool is_rung; /* a doorbell or a file ended the last sleep */
};

static void prepare(void *context)
{
    const struct poller *poller = context;

    for (size_t i = 0; i < poller->count; i++) {
        if (poller->endpoints[i] != NULL) {
            endpoint_arm(poller->endpoints[i]);
        }
    }
}

static int file_of(const struct poller *poller, size_t i)
{
    return poller->endpoints[i] != NULL ? poller->endpoints[i]->bell : (int)poller->waits[i].length;
}

static struct timespec timespec_of(uint64_t nanoseconds)
{
    return (struct timespec){
        .tv_sec = (time_t)(nanoseconds / NANOSECONDS),
        .tv_nsec = (long)(nanoseconds % NANOSECONDS),
    };
}

/* Returns the time at which a sleep that begins now ends, whether or not a doorbell rings. */
static uint64_t next_look(const struct poller *poller, uint64_t now)
{
    if (poller->count > LINUX_POLLED_WAITS) {
        return now + LOOK;
    }
    for (size_t i = 0; i < poller->count; i++) {
        if (poller->endpoints[i] != NULL && endpoint_watches_peer(poller->endpoints[i])) {
            return now + ENDPOINT_LOOK_NS;
        }
    }
    return CHANNEL_FOREVER;
}

static void look_for_peers(const struct poller *poller)
{
    for (size_t i = 0; i < poller->count; i++) {
        if (poller->endpoints[i] != NULL) {
            linux_look_for_peer(poller->endpoints[i]);
        }
    }
}

/* Takes back that the doorbell rang. If the endpoint is armed, the doorbell may have rung for the
 * event loop, which then arms it again: a PCI function rings once. */
static void hear(struct linux_endpoint *endpoint)
{
    const uint64_t one = 1;

    endpoint_quiet(endpoint);
    if (endpoint->is_armed && !endpoint->is_alarmed) {
        endpoint->is_alarmed = write(endpoint->alarm, &one, sizeof(one)) == sizeof(one);
    }
}

/* Sleeps until a doorbell rings, a file is readable, a signal arrives, or the deadline passes. */
static bool sleep_until(void *context, uint64_t deadline)
{
    struct poller *poller = context;
    struct pollfd files[LINUX_POLLED_WAITS];
    size_t count = poller->count < LINUX_POLLED_WAITS ? poller->count : LINUX_POLLED_WAITS;
    uint64_t now = linux_now();
    uint64_t look = next_look(poller, now);
    uint64_t end = deadline < look ? deadline : look;
    const struct timespec time = timespec_of(end > now ? end - now : 0);

    for (size_t i = 0; i < count; i++) {
        files[i] = (struct pollfd){.fd = file_of(poller, i), .events = POLLIN};
    }
    poller->is_rung = ppoll(files, count, end == CHANNEL_FOREVER ? NULL : &time, NULL) > 0;
    for (size_t i = 0; i < count && poller->is_rung; i++) {
        if (poller->endpoints[i] != NULL && (files[i].revents & POLLIN) != 0) {
            hear(poller->endpoints[i]);
        }
    }
    look_for_peers(poller);
    return deadline == CHANNEL_FOREVER || linux_now() < deadline;
}

static bool has_passed(void *context, uint64_t deadline)
{
    (void)context;
    return deadline != CHANNEL_FOREVER && linux_now() >= deadline;
}

/* A signal may end it. */
static bool rest_after(bool is_rung, uint64_t deadline)
{
    uint64_t now = linux_now();
    uint64_t left = deadline > now ? deadline - now : 0;
    const struct timespec time = timespec_of(left < REST ? left : REST);

    if (is_rung) {
        (void)nanosleep(&time, NULL);
    }
    return !has_passed(NULL, deadline);
}

static bool rest(void *context, uint64_t deadline)
{
    const struct poller *poller = context;

    return rest_after(poller->is_rung, deadline);
}

size_t linux_wait_any(struct linux_endpoint *const *endpoints, const struct channel_wait *waits,
                      size_t count, uint64_t deadline)
{
    struct poller poller = {.endpoints = endpoints, .waits = waits, .count = count};
    const struct channel_sleeper sleeper = {
        .context = &poller,
        .prepare = prepare,
        .sleep = sleep_until,
        .rest = rest,
        .has_passed = has_passed,
    };

    look_for_peers(&poller); /* one channel may be ready in each call */
    return channel_wait_any(waits, count, &sleeper, deadline);
}

static void prepare_one(void *endpoint)
{
    endpoint_arm(endpoint);
}

static bool sleep_one(void *context, uint64_t deadline)
{
    struct linux_endpoint *endpoint = context;
    const struct channel_wait none = {0}; /* the doorbell is that of the endpoint */
    struct poller poller = {.endpoints = &endpoint, .waits = &none, .count = 1};
    bool has_time = sleep_until(&poller, deadline);

    endpoint->is_rung = poller.is_rung;
    return has_time;
}

static bool rest_one(void *context, uint64_t deadline)
{
    const struct linux_endpoint *endpoint = context;

    return rest_after(endpoint->is_rung, deadline);
}

struct channel_sleeper linux_sleeper(struct linux_endpoint *endpoint)
{
    return (struct channel_sleeper){
        .context = endpoint,
        .prepare = prepare_one,
        .sleep = sleep_one,
        .rest = rest_one,
        .has_passed = has_passed,
    };
}

/* Takes back that the doorbell rang, and the alarm. */
static void silence(struct linux_endpoint *endpoint)
{
    uint64_t count;

    endpoint_quiet(endpoint);
    if (endpoint->is_alarmed && read(endpoint->alarm, &count, sizeof(count)) == sizeof(count)) {
        endpoint->is_alarmed = false;
    }
}

/* Asks the peer to ring for these events, also while no call of wait.h waits. */
static void set_armed(struct channel_control *own, uint64_t flags)
{
    if (own != NULL) {
        word_store(&own->armed, flags);
        word_store(&own->waits, flags);
    }
}

/* Arms the endpoint for one or two waits, which have the same control page. Returns false if one of
 * them is over. */
static bool arm(struct linux_endpoint *endpoint, const struct channel_wait *waits, size_t count)
{
    struct channel_control *own = waits[0].own;

    linux_look_for_peer(endpoint);
    silence(endpoint);
    endpoint_arm(endpoint);
    set_armed(own, waits[0].flags | waits[count - 1].flags);
    /* As in channel_wait_any(): the flags are visible before the last look. */
    word_fence();
    endpoint->is_armed =
        !waits[0].is_ready(&waits[0]) && !waits[count - 1].is_ready(&waits[count - 1]);
    if (!endpoint->is_armed) {
        set_armed(own, 0);
    } else if (own != NULL) {
        own->sleeps++;
    }
    return endpoint->is_armed;
}

bool linux_arm(struct linux_endpoint *endpoint)
{
    const struct channel_wait wait = endpoint->kind_operations->wait(endpoint);

    return arm(endpoint, &wait, 1);
}

bool linux_arm_with_space(struct linux_endpoint *endpoint, uint64_t length)
{
    struct channel *channel = linux_channel(endpoint);
    const struct channel_wait waits[] = {channel_wait_for_message(channel),
                                         channel_wait_for_space(channel, length)};

    return arm(endpoint, waits, 2);
}

bool linux_arm_for_space(struct linux_endpoint *endpoint, uint64_t length)
{
    const struct channel_wait wait = channel_wait_for_space(linux_channel(endpoint), length);

    return arm(endpoint, &wait, 1);
}

/* Asks for the doorbell for these events, and those for which the endpoint is armed. */
static void ask_for(struct channel_control *own, uint64_t flags)
{
    if (own != NULL) {
        word_store(&own->waits, word_load(&own->armed) | flags);
    }
}

bool linux_sleep_begin(struct linux_endpoint *endpoint, const struct channel_wait *wait,
                       uint64_t others)
{
    linux_look_for_peer(endpoint);
    endpoint_arm(endpoint);
    ask_for(wait->own, wait->flags | others);
    /* As in channel_wait_any(): the flags are visible before the last look. */
    word_fence();
    if (wait->is_ready(wait)) {
        ask_for(wait->own, others);
        return false;
    }
    if (wait->own != NULL) {
        wait->own->sleeps++;
    }
    return true;
}

void linux_sleep(const struct linux_endpoint *endpoint, int wake, uint64_t until)
{
    struct pollfd files[] = {
        {.fd = endpoint->bell, .events = POLLIN},
        {.fd = wake, .events = POLLIN},
    };
    uint64_t now = linux_now();
    uint64_t look = now + (endpoint->kind == LINUX_ONE_WAY ? LOOK : ENDPOINT_LOOK_NS);
    uint64_t end = until < look ? until : look;
    const struct timespec time = timespec_of(end > now ? end - now : 0);

    (void)ppoll(files, 2, &time, NULL);
}

bool linux_sleep_end(struct linux_endpoint *endpoint, uint64_t others)
{
    struct pollfd bell = {.fd = endpoint->bell, .events = POLLIN};
    bool is_rung = poll(&bell, 1, 0) > 0;

    if (is_rung) {
        hear(endpoint);
    }
    linux_look_for_peer(endpoint);
    if (endpoint->kind != LINUX_ONE_WAY) {
        ask_for(endpoint->memory.own, others);
    }
    return is_rung;
}

bool linux_wait_for_message(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_message(linux_channel(endpoint));

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_space(struct linux_endpoint *endpoint, uint64_t length, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_space(linux_channel(endpoint), length);

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_value(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_value(linux_value_reader(endpoint));

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_broadcast(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_broadcast(linux_broadcast_receiver(endpoint));

    for (;;) {
        uint64_t look = linux_now() + LOOK;
        uint64_t until = look < deadline ? look : deadline;

        if (linux_wait_any(&endpoint, &wait, 1, until) == 0) {
            return true;
        }
        if (until == deadline) {
            return false;
        }
    }
}
