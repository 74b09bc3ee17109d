/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Boot arguments:
 *   measure=MS    measures, with transfers of so many milliseconds; otherwise it answers
 *   trips=N       round trips of each size
 *   peer=ADDRESS  IPv4 address of the partition with the TCP services; none: TCP is not measured
 *   inplace=1     measures round trips in place, too: not with `bulkhead-channel bench`
 *   poll=NS       time for which an end of the channel polls before it sleeps
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "speed.h"

#define POLL_DEFAULT (20 * NANOSECONDS_PER_MILLISECOND) /* longer than what a host takes */
/* Time in which the other end stops polling, and in which the bench reads the counters of exits. */
#define STILL       (3 * NANOSECONDS_PER_SECOND)
#define POLL_ALWAYS (300 * NANOSECONDS_PER_SECOND) /* longer than any measurement */

static const uint32_t sizes[] = {8, 64, 1024, MESSAGE_MAX};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct plan {
    uint64_t duration;
    uint32_t trips;
    bool has_peer; /* for TCP */
    bool in_place;
};

static void report(const char *over, const char *kind, uint32_t bytes, struct measured measured)
{
    print("channel-speed: %s %s %u %llu %llu\n", over, kind, bytes,
          (unsigned long long)measured.messages, (unsigned long long)measured.nanoseconds);
}

static void pause(void)
{
    (void)thread_sleep_until(time_after(STILL));
}

/* The other core stays awake because its thread polls the channel. */
static void measure_tcp(const struct plan *plan, uint32_t bytes, bool stays_awake)
{
    const char *name = stays_awake ? "tcp_awake" : "tcp";

    messages_set_poll(stays_awake ? POLL_ALWAYS : 0);
    report(name, "stream", bytes, tcp_stream(bytes, plan->duration, stays_awake));
    report(name, "trip", bytes, tcp_round_trips(bytes, plan->trips, stays_awake));
}

/* Channel and TCP in turn. */
static void measure_sizes(const struct plan *plan)
{
    for (size_t i = 0; i < SIZES; i++) {
        messages_set_poll(POLL_DEFAULT);
        report("channel", "stream", sizes[i], messages_stream(sizes[i], plan->duration));
        report("channel", "trip", sizes[i], messages_round_trips(sizes[i], plan->trips));
        if (plan->in_place) {
            report("inplace", "trip", sizes[i],
                   messages_round_trips_in_place(sizes[i], plan->trips));
        }
        messages_set_poll(0);
        report("asleep", "trip", sizes[i], messages_round_trips(sizes[i], plan->trips));
        if (plan->has_peer) {
            measure_tcp(plan, sizes[i], false);
            measure_tcp(plan, sizes[i], true);
        }
    }
}

/* A transfer whose notifications, sleeps and exits count. The bench reads the exits in the pauses:
 * whoever prints has one for each byte. */
static void measure_events(const char *name, uint64_t poll_ns, uint64_t duration)
{
    uint64_t notifications;
    uint64_t sleeps;
    struct measured measured;

    messages_set_poll(poll_ns);
    notifications = messages_notifications();
    sleeps = messages_sleeps();
    print("channel-speed: %s begins\n", name);
    pause();
    measured = messages_stream(MESSAGE_MAX, duration);
    pause();
    report(name, "stream", MESSAGE_MAX, measured);
    print("channel-speed: %s notifications %llu sleeps %llu\n", name,
          (unsigned long long)(messages_notifications() - notifications),
          (unsigned long long)(messages_sleeps() - sleeps));
    pause();
}

int application_main(void)
{
    struct plan plan = {
        .duration = boot_argument_number("measure", 0, 0, 600000) * NANOSECONDS_PER_MILLISECOND,
        .trips = (uint32_t)boot_argument_number("trips", 1000, 1, 100000),
        .in_place = boot_argument_number("inplace", 0, 0, 1) != 0,
    };
    char peer[sizeof("255.255.255.255")];
    enum result result =
        messages_open(boot_argument_number("poll", POLL_DEFAULT, 0, NANOSECONDS_PER_SECOND));

    plan.has_peer = boot_argument("peer", peer, sizeof(peer));
    if (result == RESULT_OK) {
        result = tcp_open();
    }
    if (result != RESULT_OK) {
        print("channel-speed: FAIL: %s\n", result_text(result));
        return 1;
    }
    print("channel-speed: ready\n");
    if (plan.duration == 0) {
        messages_answer();
    }
    measure_sizes(&plan);
    measure_events("awake", POLL_ALWAYS, plan.duration);
    measure_events("asleep", 0, plan.duration);
    print("channel-speed: end\n");
    (void)thread_sleep_until(DEADLINE_NONE);
    return 0;
}
