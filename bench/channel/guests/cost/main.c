/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench channel, at both ends of a channel. End 0 measures. In the machine
 * that counts, a tick of the counter is an instruction:
 *   single    one message is sent and received, by one thread, in a channel of its own
 *   burst     the same, a burst of messages before the first one is received
 *   doorbell  from before the store of a message to the first statement of the handler in the other
 *             partition, whose thread sleeps. The machine executes one core at a time: all that
 *             this end executes up to its return from the hypervisor counts, and nothing after it
 * With `stream=BYTES` end 0 sends so many bytes instead, while both ends poll.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/partition_channel.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/cpu.h>
#include <channel/wait.h>
#include <string.h>

#define LOCAL_RING UINT64_C(0x100000)
#define ROUNDS     200u
#define BURST      64u
#define BLOCK      65536u
#define SMALL      8u
#define PAUSE      NANOSECONDS_PER_MILLISECOND  /* in which the other end falls asleep */
#define STILL      (3 * NANOSECONDS_PER_SECOND) /* for the bench to read the counters of exits */
#define TAG_STAMP  1u                           /* answer with the ticks to the handler */
#define TAG_STREAM 2u                           /* poll from now on, and read the content */
#define TAG_ANSWER 3u

struct local_section {
    _Alignas(4096) uint8_t control[CHANNEL_CONTROL_BYTES];
    uint8_t ring[LOCAL_RING];
};

static struct local_section local_sections[2];

static struct {
    struct partition_channel place;
    struct channel channel;
    struct semaphore rung;
    uint64_t arrived; /* ticks at the last doorbell */
    uint64_t sum;     /* of what was read, so that it is read */
} side;

static void sort(uint64_t *values, unsigned count)
{
    for (unsigned end = 1; end < count; end++) {
        uint64_t value = values[end];
        unsigned place = end;

        for (; place > 0 && values[place - 1] > value; place--) {
            values[place] = values[place - 1];
        }
        values[place] = value;
    }
}

/* Prints the smallest value, the median, the largest one, and the sum of all. */
static void report(const char *name, uint64_t *values)
{
    uint64_t sum = 0;

    sort(values, ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        sum += values[i];
    }
    print("channel-cost: %s %llu %llu %llu %llu of %u\n", name, (unsigned long long)values[0],
          (unsigned long long)values[ROUNDS / 2], (unsigned long long)values[ROUNDS - 1],
          (unsigned long long)sum, ROUNDS);
}

/* Sends and receives `burst` messages. Returns the ticks of one, rounded down. Inline, so that the
 * length is a constant, as in a program that sends messages of one type. */
static inline __attribute__((always_inline)) uint64_t measure_round(struct channel *ends,
                                                                    uint64_t length, unsigned burst)
{
    uint64_t from = arch_clock_ticks();

    for (unsigned i = 0; i < burst; i++) {
        uint64_t *content = (void *)channel_send_begin(&ends[0], length);

        if (content == NULL) {
            return 0;
        }
        *content = i;
        channel_send_end(&ends[0], length, 0);
    }
    for (unsigned i = 0; i < burst; i++) {
        uint64_t received;
        uint32_t tag;
        const uint64_t *content = (const void *)channel_receive_begin(&ends[1], &received, &tag);

        if (content == NULL) {
            return 0;
        }
        side.sum += *content;
        channel_receive_end(&ends[1]);
    }
    return burst == 0 ? 0 : (arch_clock_ticks() - from) / burst;
}

static inline __attribute__((always_inline)) void measure_local(const char *name, uint64_t length,
                                                                unsigned burst)
{
    static uint64_t values[ROUNDS];
    const struct channel_port port = {.notify = NULL};
    struct channel ends[2];

    memset(local_sections, 0, sizeof(local_sections));
    for (unsigned end = 0; end < 2; end++) {
        const struct channel_memory memory = {
            .own = &local_sections[end],
            .peer = &local_sections[1 - end],
            .ring_bytes = LOCAL_RING,
        };

        (void)channel_open(&ends[end], &memory, &port);
    }
    for (unsigned i = 0; i < 4; i++) {
        (void)channel_update(&ends[i % 2]);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        values[i] = measure_round(ends, length, burst);
    }
    report(name, values);
}

/* Interrupt context. */
static void handle_doorbell(void *argument)
{
    side.arrived = arch_clock_ticks();
    (void)argument;
    (void)interrupt_mask(side.place.interrupt.number);
    (void)semaphore_post(&side.rung);
}

static void prepare(void *context)
{
    (void)context;
    (void)semaphore_wait(&side.rung, DEADLINE_POLL);
    (void)interrupt_unmask(side.place.interrupt.number);
}

static bool sleep_until(void *context, uint64_t deadline)
{
    (void)context;
    return semaphore_wait(&side.rung, deadline) == RESULT_OK;
}

static const struct channel_sleeper sleeper = {.prepare = prepare, .sleep = sleep_until};

/* Returns the next message in place. Sleeps until there is one, or polls. */
static const void *receive(bool polls, uint64_t *length, uint32_t *tag)
{
    const void *content = channel_receive_begin(&side.channel, length, tag);

    while (content == NULL) {
        struct channel_wait wait = channel_wait_for_message(&side.channel);

        if (!polls) {
            (void)channel_wait_any(&wait, 1, &sleeper, DEADLINE_NONE);
        }
        content = channel_receive_begin(&side.channel, length, tag);
    }
    return content;
}

/* An emulator that executes one core at a time goes on with another core. */
static void yield_core(void)
{
    __asm__ volatile("yield");
}

/* Returns the place for a message, for which it polls. */
static void *reserve(uint64_t length)
{
    void *place = channel_send_begin(&side.channel, length);

    while (place == NULL) {
        place = channel_send_begin(&side.channel, length);
    }
    return place;
}

static void send_word(uint64_t word, uint32_t tag)
{
    memcpy(reserve(SMALL), &word, SMALL);
    channel_send_end(&side.channel, SMALL, tag);
}

static void measure_doorbell(void)
{
    static uint64_t values[ROUNDS];

    (void)reserve(SMALL); /* the other end has connected: the first message does not wait for it */
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t length;
        uint32_t tag;

        (void)thread_sleep_until(time_after(PAUSE));
        send_word(arch_clock_ticks(), TAG_STAMP);
        yield_core();
        memcpy(&values[i], receive(false, &length, &tag), sizeof(values[i]));
        channel_receive_end(&side.channel);
    }
    report("doorbell", values);
}

static void send_stream(uint64_t bytes)
{
    uint64_t length;
    uint32_t tag;

    send_word(0, TAG_STREAM);
    print("channel-cost: both poll\n");
    (void)thread_sleep_until(time_after(STILL));
    for (uint64_t sent = 0; sent < bytes; sent += BLOCK) {
        memset(reserve(BLOCK), (int)(sent / BLOCK), BLOCK);
        channel_send_end(&side.channel, BLOCK, TAG_STREAM);
    }
    send_word(0, TAG_STAMP);
    (void)receive(true, &length, &tag);
    channel_receive_end(&side.channel);
    (void)thread_sleep_until(time_after(STILL));
    print("channel-cost: streamed\n");
    /* To end would be another exit. */
    (void)thread_sleep_until(DEADLINE_NONE);
}

/* End 1 receives, and answers stamps, for ever. */
static void answer(void)
{
    bool polls = false;

    for (;;) {
        uint64_t length;
        uint32_t tag;
        const uint64_t *content = receive(polls, &length, &tag);
        uint64_t first = *content;

        for (uint64_t i = 0; tag == TAG_STREAM && i < length / sizeof(*content); i++) {
            side.sum += content[i];
        }
        channel_receive_end(&side.channel);
        polls = polls || tag == TAG_STREAM;
        if (tag == TAG_STAMP) {
            send_word(side.arrived - first, TAG_ANSWER);
        }
    }
}

static enum result open_channel(void)
{
    enum result result = partition_channel_open(&side.place, NULL);

    semaphore_init(&side.rung, 0, 1);
    if (result == RESULT_OK) {
        result =
            interrupt_attach(side.place.interrupt.number, INTERRUPT_EDGE, handle_doorbell, NULL);
    }
    return result == RESULT_OK ? partition_channel_begin(&side.place, &side.channel) : result;
}

int application_main(void)
{
    uint64_t bytes = boot_argument_number("stream", 0, 0, UINT64_MAX);
    enum result result = open_channel();

    if (result != RESULT_OK) {
        print("channel-cost: FAIL: %s\n", result_text(result));
        return 1;
    }
    if (side.place.end == 1) {
        answer();
    }
    if (bytes != 0) {
        send_stream(bytes);
        return 0;
    }
    print("channel-cost: frequency %llu\n", (unsigned long long)arch_clock_frequency());
    measure_local("single", SMALL, 1);
    measure_local("burst", SMALL, BURST);
    measure_local("burst_64", 64, BURST);
    measure_local("single_64k", BLOCK, 1);
    measure_local("single_64", 64, 1);
    measure_doorbell();
    print("channel-cost: end\n");
    return 0;
}
