/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* ppoll */
#include "endpoint.h"

#include "function.h"
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS UINT64_C(1000000000)
#define LOOK        (NANOSECONDS / 100) /* between two looks at a one-way channel */

bool endpoint_fail(char *problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(problem, LINUX_PROBLEM_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

uint64_t linux_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

bool endpoint_check(uint64_t ring_bytes, char *problem)
{
    if (ring_bytes < CHANNEL_RING_MIN || ring_bytes > CHANNEL_RING_MAX ||
        (ring_bytes & (ring_bytes - 1)) != 0) {
        return endpoint_fail(problem, "a ring has a power of two from %llu to %llu bytes, not %llu",
                             (unsigned long long)CHANNEL_RING_MIN,
                             (unsigned long long)CHANNEL_RING_MAX, (unsigned long long)ring_bytes);
    }
    return true;
}

void endpoint_place(struct linux_endpoint *endpoint, uint64_t ring_bytes)
{
    uint8_t *sections = (uint8_t *)endpoint->region + REGION_STATE_BYTES;
    const uint32_t *states = endpoint->region;
    uint64_t section_bytes = CHANNEL_CONTROL_BYTES + ring_bytes;

    uint8_t *section[] = {
        sections,
        endpoint->kind == LINUX_ONE_WAY ? NULL : sections + section_bytes,
    };

    endpoint->memory = (struct channel_memory){
        .own = section[endpoint->end],
        .peer = section[1 - endpoint->end],
        .ring_bytes = ring_bytes,
        .peer_state = endpoint->registers == NULL ? NULL : &states[1 - endpoint->end],
    };
}

void linux_begin(struct linux_endpoint *endpoint)
{
    const struct channel_memory *memory = &endpoint->memory;

    if (endpoint->registers != NULL) {
        function_begin(endpoint);
    }
    endpoint->is_used = true;
    /* endpoint_check() has checked the size, so no function fails. */
    switch (endpoint->kind) {
    case LINUX_MESSAGES:
        (void)channel_open(&endpoint->channel, memory, &endpoint->port);
        break;
    case LINUX_VALUE:
        (void)value_writer_begin(&endpoint->writer, memory->own, memory->peer, memory->ring_bytes);
        (void)value_reader_begin(&endpoint->reader, memory->peer, memory->own, memory->ring_bytes);
        break;
    case LINUX_ONE_WAY:
        if (endpoint->end == 0) {
            (void)broadcast_sender_begin(&endpoint->sender, memory->own, memory->ring_bytes);
        } else {
            (void)broadcast_receiver_begin(&endpoint->receiver, memory->peer, memory->ring_bytes,
                                           false);
        }
        break;
    }
}

void linux_notify(const struct linux_endpoint *endpoint)
{
    struct channel_control *own = endpoint->memory.own;

    own->notifications++;
    endpoint->port.notify(endpoint->port.context);
}

const struct channel_control *linux_control(const struct linux_endpoint *endpoint, unsigned end)
{
    return endpoint->end == end ? endpoint->memory.own : endpoint->memory.peer;
}

void linux_end(struct linux_endpoint *endpoint)
{
    if (!endpoint->is_used) {
        return;
    }
    endpoint->is_used = false;
    if (endpoint->kind == LINUX_MESSAGES) {
        channel_close(&endpoint->channel);
    }
    if (endpoint->registers != NULL) {
        function_end(endpoint);
    }
}

void linux_close(struct linux_endpoint *endpoint)
{
    linux_end(endpoint);
    if (endpoint->registers != NULL) {
        function_close(endpoint);
    } else {
        close(endpoint->peer_bell);
    }
    close(endpoint->bell);
    munmap(endpoint->region, endpoint->region_bytes);
}

void endpoint_arm(const struct linux_endpoint *endpoint)
{
    if (endpoint->registers != NULL) {
        function_arm(endpoint);
    }
}

void endpoint_quiet(const struct linux_endpoint *endpoint)
{
    uint32_t discarded[64];

    /* The driver's count of interrupts, or one byte for each notification. Nothing is there to
     * read if another wait has read it. */
    if (read(endpoint->bell, discarded, endpoint->registers != NULL ? 4 : sizeof(discarded)) < 0) {
        return;
    }
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

/* Sleeps until a doorbell rings, a file is readable, a signal arrives, or the deadline passes. */
static bool sleep_until(void *context, uint64_t deadline)
{
    const struct poller *poller = context;
    struct pollfd files[LINUX_WAITS_MAX];
    uint64_t now = linux_now();
    uint64_t left = deadline > now ? deadline - now : 0;
    const struct timespec time = {
        .tv_sec = (time_t)(left / NANOSECONDS),
        .tv_nsec = (long)(left % NANOSECONDS),
    };

    for (size_t i = 0; i < poller->count; i++) {
        files[i] = (struct pollfd){.fd = file_of(poller, i), .events = POLLIN};
    }
    if (ppoll(files, poller->count, deadline == CHANNEL_FOREVER ? NULL : &time, NULL) > 0) {
        for (size_t i = 0; i < poller->count; i++) {
            if (poller->endpoints[i] != NULL && (files[i].revents & POLLIN) != 0) {
                endpoint_quiet(poller->endpoints[i]);
            }
        }
    }
    return deadline == CHANNEL_FOREVER || linux_now() < deadline;
}

size_t linux_wait_any(struct linux_endpoint *const *endpoints, const struct channel_wait *waits,
                      size_t count, uint64_t deadline)
{
    struct poller poller = {endpoints, waits, count < LINUX_WAITS_MAX ? count : LINUX_WAITS_MAX};
    const struct channel_sleeper sleeper = {&poller, prepare, sleep_until};

    return channel_wait_any(waits, poller.count, &sleeper, deadline);
}

/* Returns the wait for what the kind of channel delivers. */
static struct channel_wait wait_for_any(struct linux_endpoint *endpoint)
{
    switch (endpoint->kind) {
    case LINUX_VALUE:
        return channel_wait_for_value(&endpoint->reader);
    case LINUX_ONE_WAY:
        return channel_wait_for_broadcast(&endpoint->receiver);
    default:
        return channel_wait_for_message(&endpoint->channel);
    }
}

bool linux_arm(struct linux_endpoint *endpoint)
{
    struct channel_wait wait = wait_for_any(endpoint);
    bool is_ready;

    endpoint_quiet(endpoint);
    endpoint_arm(endpoint);
    if (wait.own != NULL) {
        word_store(&wait.own->waits, wait.flags);
    }
    /* As in channel_wait_any(): the flag is visible before the last look. */
    word_fence();
    is_ready = wait.is_ready(&wait);
    if (wait.own != NULL && is_ready) {
        word_store(&wait.own->waits, 0);
    } else if (wait.own != NULL) {
        wait.own->sleeps++;
    }
    return !is_ready;
}

bool linux_wait_for_message(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_message(&endpoint->channel);

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_space(struct linux_endpoint *endpoint, uint64_t length, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_space(&endpoint->channel, length);

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_value(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_value(&endpoint->reader);

    return linux_wait_any(&endpoint, &wait, 1, deadline) == 0;
}

bool linux_wait_for_broadcast(struct linux_endpoint *endpoint, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_broadcast(&endpoint->receiver);

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
