/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes send each other messages over one channel, as fast as they can, while a third one
 * kills either of them at random. Usage: hammer MESSAGES KILLS SEED. Ends when so many messages
 * were received and so many processes killed; exit status 1 if a message was wrong, or none arrived
 * for ten seconds.
 *
 * A message names the lives of sender and receiver, and its number within this connection. So a
 * receiver notices each message that is lost, comes twice, or was meant for another life. Contents
 * fill the rest of the message, and are checked byte by byte.
 */
#include "channel/run.h"
#include "channel/wait.h"
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES   UINT64_C(16384)
#define LENGTH_MAX   UINT64_C(600)
#define BURST_MAX    64u
#define RUN_MESSAGES UINT64_C(4)
#define PHASE_SHIFT  10u /* messages that a side sends before it changes its way */
#define SILENCE_MS   10000u
#define STATUS_WRONG 3

struct message {
    uint64_t sender;
    uint64_t receiver;
    uint64_t number;
};

struct side {
    uint8_t section[CHANNEL_CONTROL_BYTES + RING_BYTES];
    _Alignas(4096) uint32_t bell; /* a futex: how often the side was notified */
    uint64_t received;
    uint64_t connections;
};

static struct side *sides;

static void ring_bell(void *context)
{
    uint32_t *bell = context;

    __atomic_add_fetch(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

struct sleeper {
    uint32_t *bell;
    uint32_t seen;
};

static void prepare(void *context)
{
    struct sleeper *sleeper = context;

    sleeper->seen = __atomic_load_n(sleeper->bell, __ATOMIC_SEQ_CST);
}

static bool sleep_until(void *context, uint64_t deadline)
{
    struct sleeper *sleeper = context;

    (void)deadline; /* without one, so that a lost notification is noticed */
    syscall(SYS_futex, sleeper->bell, FUTEX_WAIT, sleeper->seen, NULL, NULL, 0);
    return true;
}

static void __attribute__((noreturn)) report_wrong(const struct channel *channel,
                                                   const char *problem, uint64_t got,
                                                   uint64_t expected)
{
    (void)fprintf(stderr, "hammer: %s: got %llu, expected %llu (life %llu, peer %llu)\n", problem,
                  (unsigned long long)got, (unsigned long long)expected,
                  (unsigned long long)channel->generation, (unsigned long long)channel->peer);
    _exit(STATUS_WRONG);
}

/* A quarter of the messages are sent in runs. */
static bool is_of_a_run(uint64_t number)
{
    return number / RUN_MESSAGES % 4 == 3;
}

/* Returns the first message with the same size and tag. */
static uint64_t first_of(uint64_t number)
{
    return is_of_a_run(number) ? number - number % RUN_MESSAGES : number;
}

static uint64_t length_of(uint64_t number)
{
    return sizeof(struct message) +
           first_of(number) * 2654435761u % (LENGTH_MAX - sizeof(struct message));
}

static void write_message(const struct channel *channel, uint8_t *place, uint64_t number)
{
    const struct message message = {channel->generation, channel->peer, number};

    memcpy(place, &message, sizeof(message));
    memset(place + sizeof(message), (int)(number & 0xff), length_of(number) - sizeof(message));
}

/* Sends the messages from a number to the end of its run, as far as there is space. */
static bool send_next_run(struct channel *channel, uint64_t *number)
{
    uint64_t length = length_of(*number);
    struct send_run run = channel_send_run_begin(channel, length, (uint32_t)first_of(*number));
    uint8_t *place;

    while (first_of(*number + run.count) == first_of(*number) &&
           (place = send_run_reserve(&run)) != NULL) {
        write_message(channel, place, *number + run.count);
        send_run_commit(&run);
    }
    channel_send_run_end(channel, &run);
    *number += run.count;
    return run.count != 0;
}

static bool send_next(struct channel *channel, uint64_t *number)
{
    uint64_t length = length_of(*number);
    uint8_t *place;

    if (is_of_a_run(*number)) {
        return send_next_run(channel, number);
    }
    place = channel_send_begin(channel, length);
    if (place == NULL) {
        return false;
    }
    write_message(channel, place, *number);
    channel_send_end(channel, length, (uint32_t)*number);
    (*number)++;
    return true;
}

static bool receive_next(struct channel *channel, uint64_t *number)
{
    struct message message;
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(channel, &length, &tag);

    if (content == NULL) {
        return false;
    }
    if (length != length_of(*number)) {
        report_wrong(channel, "length", length, length_of(*number));
    }
    memcpy(&message, content, sizeof(message));
    if (message.sender != channel->peer) {
        report_wrong(channel, "life of the sender", message.sender, channel->peer);
    }
    if (message.receiver != channel->generation) {
        report_wrong(channel, "life of the receiver", message.receiver, channel->generation);
    }
    if (message.number != *number || tag != (uint32_t)first_of(*number)) {
        report_wrong(channel, "number", message.number, *number);
    }
    for (uint64_t i = sizeof(message); i < length; i++) {
        if (content[i] != (uint8_t)*number) {
            report_wrong(channel, "content", content[i], (uint8_t)*number);
        }
    }
    channel_receive_end(channel);
    (*number)++;
    return true;
}

/* Numbers of the messages within a connection. */
struct numbers {
    uint64_t peer; /* generation with which the side is connected */
    uint64_t sent;
    uint64_t received;
    bool owes_answer; /* a message arrived after the last one that was sent */
};

/* Connects if it can. Returns true while there is a connection. */
static bool keep_connection(struct channel *channel, struct side *own, struct numbers *numbers)
{
    if (channel->state == CHANNEL_FAILED) {
        report_wrong(channel, channel_error_text(channel->error.kind), channel->error.value,
                     channel->error.position);
    }
    channel_accept(channel);
    if (channel->state == CHANNEL_CONNECTING) {
        channel_update(channel);
    }
    if (channel->peer != numbers->peer) {
        *numbers = (struct numbers){.peer = channel->peer};
        own->connections++;
    }
    return channel->state != CHANNEL_CONNECTING;
}

/* A side floods its peer for a while, and then only answers for a while: one message after all that
 * have arrived. While both answer, both sleep most of the time. */
static bool only_answers(const struct numbers *numbers)
{
    return (numbers->sent >> PHASE_SHIFT & 1) != 0;
}

/* Returns true if a message was received or sent. */
static bool exchange(struct channel *channel, struct side *own, struct numbers *numbers)
{
    unsigned received = 0;
    unsigned sent = 0;
    unsigned allowed;

    while (received < BURST_MAX && receive_next(channel, &numbers->received)) {
        __atomic_store_n(&own->received, own->received + 1, __ATOMIC_RELAXED);
        received++;
    }
    numbers->owes_answer |= received > 0;
    allowed = only_answers(numbers) ? (numbers->owes_answer && received < BURST_MAX) : BURST_MAX;
    while (sent < allowed && send_next(channel, &numbers->sent)) {
        sent++;
        numbers->owes_answer = false;
    }
    return received + sent > 0;
}

/* A life of one side: until it is killed. */
static void __attribute__((noreturn)) run_side(unsigned index)
{
    struct side *own = &sides[index];
    struct side *peer = &sides[1 - index];
    struct sleeper context = {.bell = &own->bell};
    const struct channel_sleeper sleeper = {
        .context = &context, .prepare = prepare, .sleep = sleep_until};
    const struct channel_port port = {.context = &peer->bell, .notify = ring_bell};
    const struct channel_memory memory = {own->section, peer->section, RING_BYTES, NULL};
    struct numbers numbers = {0};
    struct channel channel;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    channel_open(&channel, &memory, &port);
    for (;;) {
        bool is_connected = channel.state == CHANNEL_CONNECTED || channel.state == CHANNEL_ENDING;

        if (!is_connected) {
            is_connected = keep_connection(&channel, own, &numbers);
        }
        if (!is_connected || !exchange(&channel, own, &numbers)) {
            const struct channel_wait waits[] = {
                channel_wait_for_message(&channel),
                channel_wait_for_space(&channel, length_of(numbers.sent)),
            };

            if (!is_connected || channel.state == CHANNEL_CONNECTED) {
                channel_wait_any(waits, only_answers(&numbers) ? 1 : 2, &sleeper, CHANNEL_FOREVER);
            }
        }
    }
}

static pid_t start_side(unsigned index)
{
    pid_t child = fork();

    if (child == 0) {
        run_side(index);
    }
    if (child < 0) {
        perror("hammer: fork");
        exit(2);
    }
    return child;
}

static uint64_t total_received(void)
{
    return __atomic_load_n(&sides[0].received, __ATOMIC_RELAXED) +
           __atomic_load_n(&sides[1].received, __ATOMIC_RELAXED);
}

static void sleep_us(uint64_t microseconds)
{
    const struct timespec time = {
        .tv_sec = (time_t)(microseconds / 1000000),
        .tv_nsec = (long)(microseconds % 1000000 * 1000),
    };

    nanosleep(&time, NULL);
}

/* Returns true once a message arrived after the last call, false after ten seconds without one. */
static bool has_progress(uint64_t *last)
{
    for (unsigned i = 0; i < SILENCE_MS && total_received() == *last; i++) {
        sleep_us(1000);
    }
    if (total_received() == *last) {
        return false;
    }
    *last = total_received();
    return true;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int end(pid_t *children, const char *problem)
{
    unsigned long long received;
    unsigned long long connections;

    for (unsigned i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    received = total_received();
    connections = sides[0].connections;
    connections += sides[1].connections;
    (void)printf("%llu messages, %llu connections\n", received, connections);
    if (problem != NULL) {
        (void)fprintf(stderr, "hammer: %s\n", problem);
    }
    return problem != NULL;
}

int main(int count, char **arguments)
{
    uint64_t messages = count == 4 ? strtoull(arguments[1], NULL, 10) : 0;
    uint64_t kills = count == 4 ? strtoull(arguments[2], NULL, 10) : 0;
    uint64_t random = count == 4 ? strtoull(arguments[3], NULL, 10) * 2 + 1 : 1;
    uint64_t killed = 0;
    uint64_t last = 0;
    pid_t children[2];

    if (messages == 0) {
        (void)fprintf(stderr, "usage: hammer MESSAGES KILLS SEED\n");
        return 2;
    }
    sides =
        mmap(NULL, 2 * sizeof(*sides), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sides == MAP_FAILED) {
        perror("hammer: mmap");
        return 2;
    }
    children[0] = start_side(0);
    children[1] = start_side(1);
    while (killed < kills || total_received() < messages) {
        sleep_us(next_random(&random) % 20000);
        for (unsigned i = 0; i < 2; i++) {
            if (waitpid(children[i], NULL, WNOHANG) == children[i]) {
                return end(children, "a side ended by itself");
            }
        }
        if (!has_progress(&last)) {
            return end(children, "no message arrived for ten seconds");
        }
        if (killed < kills) {
            unsigned victim = (unsigned)(next_random(&random) >> 32) % 2;

            kill(children[victim], SIGKILL);
            waitpid(children[victim], NULL, 0);
            children[victim] = start_side(victim);
            killed++;
        }
    }
    return end(children, NULL);
}
