/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Boot arguments:
 *   measure=MS    measures, with transfers of so many milliseconds; otherwise it answers
 *   trips=N       round trips of each size
 *   peer=ADDRESS  IPv4 address of the partition with the TCP services; none: TCP is not measured
 *   alike=1       the other end is this guest, not `bulkhead-channel bench`: measures round trips
 *                 in place, too, and the work of both kernels
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
/* A transfer with a byte rate that TCP reaches, too: 16 MiB/s. */
#define PACED_PERIOD (MESSAGE_MAX * NANOSECONDS_PER_SECOND / (16 << 20))

static const uint32_t sizes[] = {8, 64, 1024, MESSAGE_MAX};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct plan {
    uint64_t duration;
    uint32_t trips;
    bool has_peer; /* for TCP */
    bool is_alike; /* the other end */
};

/* A transfer of messages of MESSAGE_MAX whose events or work count. */
struct transfer {
    const char *name;
    bool is_over_tcp;
    uint64_t poll_ns;
    uint64_t period;
};

static const struct transfer counted[] = {
    {"awake", false, POLL_ALWAYS, 0},
    {"asleep", false, 0, 0},
    {"tcp", true, 0, 0},
};

static const struct transfer paced[] = {
    {"awake_paced", false, POLL_ALWAYS, PACED_PERIOD},
    {"asleep_paced", false, 0, PACED_PERIOD},
    {"tcp_paced", true, 0, PACED_PERIOD},
};

#define TRANSFERS (sizeof(counted) / sizeof(counted[0]))

_Static_assert(sizeof(paced) == sizeof(counted), "each is in both tables");

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
    report(name, "stream", bytes, tcp_stream(bytes, plan->duration, 0, stays_awake));
    report(name, "trip", bytes, tcp_round_trips(bytes, plan->trips, stays_awake));
}

/* Channel and TCP in turn. */
static void measure_sizes(const struct plan *plan)
{
    for (size_t i = 0; i < SIZES; i++) {
        messages_set_poll(POLL_DEFAULT);
        report("channel", "stream", sizes[i], messages_stream(sizes[i], plan->duration, 0));
        report("channel", "trip", sizes[i], messages_round_trips(sizes[i], plan->trips));
        if (plan->is_alike) {
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

static struct measured execute(const struct transfer *transfer, uint64_t duration)
{
    return transfer->is_over_tcp ? tcp_stream(MESSAGE_MAX, duration, transfer->period, false)
                                 : messages_stream(MESSAGE_MAX, duration, transfer->period);
}

/* A transfer, and what both kernels had done before and after it. */
struct work {
    struct measured measured;
    struct usage before[ENDS];
    struct usage after[ENDS];
};

static struct work measure_work(const struct transfer *transfer, const struct plan *plan)
{
    struct work work;

    /* The exits of a transfer over TCP do not include those of messages. */
    if (plan->is_alike && !transfer->is_over_tcp) {
        messages_usages(work.before);
    } else {
        work.before[0] = usage_now();
    }
    work.measured = execute(transfer, plan->duration);
    if (plan->is_alike && !transfer->is_over_tcp) {
        messages_usages(work.after);
    } else {
        work.after[0] = usage_now();
    }
    return work;
}

static uint64_t busy(const struct usage *before, const struct usage *after)
{
    return (after->time - before->time) - (after->idle - before->idle);
}

static void report_work(const struct transfer *transfer, const struct plan *plan,
                        const struct work *work)
{
    struct usage_span other = {.begin = work->before[1], .end = work->after[1]};

    report(transfer->name, "stream", MESSAGE_MAX, work->measured);
    if (!plan->is_alike) {
        return;
    }
    if (transfer->is_over_tcp) {
        messages_served(&other);
    }
    print("channel-speed: %s switches %llu busy %llu of %llu\n", transfer->name,
          (unsigned long long)(work->after[0].switches - work->before[0].switches +
                               other.end.switches - other.begin.switches),
          (unsigned long long)(busy(&work->before[0], &work->after[0]) +
                               busy(&other.begin, &other.end)),
          (unsigned long long)(work->after[0].time - work->before[0].time));
}

/* A transfer whose notifications, sleeps and exits count. The bench reads the exits in the pauses:
 * whoever prints has one for each byte. */
static void measure_events(const struct transfer *transfer, const struct plan *plan)
{
    uint64_t notifications;
    uint64_t sleeps;
    struct work work;

    messages_set_poll(transfer->poll_ns);
    notifications = messages_notifications();
    sleeps = messages_sleeps();
    print("channel-speed: %s begins\n", transfer->name);
    pause();
    work = measure_work(transfer, plan);
    notifications = messages_notifications() - notifications;
    sleeps = messages_sleeps() - sleeps;
    pause();
    print("channel-speed: %s notifications %llu sleeps %llu\n", transfer->name,
          (unsigned long long)notifications, (unsigned long long)sleeps);
    pause();
    report_work(transfer, plan, &work);
}

static void measure_all_work(const struct plan *plan)
{
    struct work work;

    for (size_t i = 0; i < TRANSFERS; i++) {
        if (plan->has_peer || !counted[i].is_over_tcp) {
            measure_events(&counted[i], plan);
        }
    }
    for (size_t i = 0; i < TRANSFERS && plan->is_alike; i++) {
        if (plan->has_peer || !paced[i].is_over_tcp) {
            messages_set_poll(paced[i].poll_ns);
            work = measure_work(&paced[i], plan);
            report_work(&paced[i], plan, &work);
        }
    }
}

int application_main(void)
{
    struct plan plan = {
        .duration = boot_argument_number("measure", 0, 0, 600000) * NANOSECONDS_PER_MILLISECOND,
        .trips = (uint32_t)boot_argument_number("trips", 1000, 1, 100000),
        .is_alike = boot_argument_number("alike", 0, 0, 1) != 0,
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
    measure_all_work(&plan);
    print("channel-speed: end\n");
    (void)thread_sleep_until(DEADLINE_NONE);
    return 0;
}
