/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench channel that measures times: messages through a channel, and
 * through TCP. One partition measures, the other one answers. Whoever sends a message writes each
 * byte of it, and whoever receives it reads each byte, except of messages in place.
 */
#ifndef CHANNEL_SPEED_SPEED_H
#define CHANNEL_SPEED_SPEED_H

#include "kernel/partition_channel.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAX     65536u
#define ROUND_TRIPS_MAX 100000u

#define ENDS 2u

/* The work of a kernel since its start. */
struct usage {
    uint64_t time;     /* nanoseconds, by this kernel's clock */
    uint64_t idle;     /* nanoseconds in which no thread was ready */
    uint64_t switches; /* between threads */
};

struct usage_span {
    struct usage begin;
    struct usage end;
};

/* A transfer in one direction, or round trips. */
struct measured {
    uint64_t messages;    /* 0: the measurement failed */
    uint64_t nanoseconds; /* of the whole transfer, or the median of the round trips */
};

/* Reads each byte. */
void read_content(const void *content, size_t bytes);

/* Returns the number of messages that are sent between two looks at the clock. */
uint64_t messages_per_look(uint32_t bytes);

/* Sets the time of round trip `trip`, less than ROUND_TRIPS_MAX. */
void set_round_trip(uint32_t trip, uint64_t nanoseconds);
/* Returns the median of the first `count` round trips, and sorts their times. */
uint64_t median_round_trip(uint32_t count);

/* Returns what this kernel has done since its start. */
struct usage usage_now(void);

/* Connects with the other end of the first channel. `poll_ns`: time for which this end polls before
 * it sleeps. */
enum result messages_open(uint64_t poll_ns);
/* The end of the channel: 0 or 1. */
unsigned messages_end(void);
/* Receives messages for ever. Sends those back that ask for it. */
_Noreturn void messages_answer(void);
/* Changes the time for which both ends poll before they sleep. */
void messages_set_poll(uint64_t poll_ns);
/* Sends messages of `bytes` for `duration` nanoseconds, one in each `period` nanoseconds or, if it
 * is 0, as many as possible, and waits until all are received. Between two periods this end polls
 * the clock if it polls the channel, too; otherwise it sleeps. */
struct measured messages_stream(uint32_t bytes, uint64_t duration, uint64_t period);
struct measured messages_round_trips(uint32_t bytes, uint32_t count);
/* The same with messages of which only the first word is written and read, at both ends. */
struct measured messages_round_trips_in_place(uint32_t bytes, uint32_t count);
/* Stores what this kernel and that of the other end have done. The other end must be this guest,
 * too, as for the next function. */
void messages_usages(struct usage usages[ENDS]);
/* Stores tcp_served() of the other end. */
void messages_served(struct usage_span *served);
/* Return the sum of both ends' counters. */
uint64_t messages_notifications(void);
uint64_t messages_sleeps(void);

/* Starts the network, and the services discard and echo. */
enum result tcp_open(void);
/* The same as messages_...() through TCP connections to the services at the boot argument `peer`.
 * `stays_awake`: this core never sleeps meanwhile. */
struct measured tcp_stream(uint32_t bytes, uint64_t duration, uint64_t period, bool stays_awake);
struct measured tcp_round_trips(uint32_t bytes, uint32_t count, bool stays_awake);
/* Returns what this kernel had done when the last connection to discard began and ended. */
struct usage_span tcp_served(void);

#endif
