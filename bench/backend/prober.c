/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Linux at the other end of the wire of a client whose back-end ends again and again. Around each
 * end it sends an echo request (RFC 792) each millisecond, TCP data as fast as they are taken, and
 * messages to the echo service (RFC 862, TCP), which it compares.
 *
 *     prober ADDRESS KILLS FIRST PAUSE WINDOW AFTER
 *
 * The times are nanoseconds by the board's counter: end I comes within WINDOW after FIRST + I *
 * PAUSE (guests/killer.c). The client is asked until some time after the window, and longer while
 * it does not reply, at most until AFTER behind the window. Output:
 *
 *     prober: end I: gap G ns, P probes, R replies, M messages, W wrong, L lost
 *     prober: done
 *
 * G is the longest time without a reply to an echo request. L counts connections that were reset or
 * closed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS 1000000000ull
#define MILLISECOND 1000000ull
/* Between two echo requests. */
#define PERIOD MILLISECOND
/* Time before and after a window in which the client is asked. It is asked longer, until replies
 * come again, if there was none for QUIET. */
#define BEFORE (5 * MILLISECOND)
#define AFTER  (60 * MILLISECOND)
#define QUIET  (20 * MILLISECOND)
/* The load is connected so long before the first window: iperf closes an idle connection. */
#define LOAD_BEFORE   (500 * MILLISECOND)
#define CONNECT_PAUSE (100 * MILLISECOND)
#define ECHO_PORT     7
#define LOAD_PORT     5001 /* iperf's; a stream of zeros asks for nothing */
#define MESSAGE_BYTES 1000u
#define LOAD_BYTES    65536u
#define PROBE_ID      0x4242
#define PRIORITY      10

struct counts {
    uint64_t gap, last_reply;
    unsigned probes, replies, messages, wrong, lost;
};

static struct sockaddr_in target;
static struct counts counts;
/* Of the present asking, by CLOCK_MONOTONIC. end_time may grow until latest_end. */
static uint64_t begin_time, latest_end;
static _Atomic uint64_t end_time;
static int echo_connection = -1, load_connection = -1;
static uint64_t message_seed = 88172645463325252ull;

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t at)
{
    const struct timespec time = {(time_t)(at / NANOSECONDS), (long)(at % NANOSECONDS)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

/* Returns the time of the board's counter. */
static uint64_t board_time(void)
{
    uint64_t ticks, frequency;

    __asm__ volatile("mrs %0, cntfrq_el0\n\tisb\n\tmrs %1, cntvct_el0"
                     : "=r"(frequency), "=r"(ticks));
    return ticks / frequency * NANOSECONDS + ticks % frequency * NANOSECONDS / frequency;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int connected(uint16_t port)
{
    struct sockaddr_in place = target;
    const int one = 1;

    place.sin_port = htons(port);
    for (;;) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);

        (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (connect(connection, (struct sockaddr *)&place, sizeof(place)) == 0) {
            return connection;
        }
        (void)close(connection);
        sleep_until(now() + CONNECT_PAUSE);
    }
}

static void lose(int *connection, uint16_t port)
{
    counts.lost++;
    (void)close(*connection);
    *connection = connected(port);
}

/* Sends a message, and receives its echo. Returns false if the connection is lost. */
static bool exchange(void)
{
    uint8_t message[MESSAGE_BYTES], answer[MESSAGE_BYTES];
    size_t have = 0;

    for (size_t i = 0; i < sizeof(message); i++) {
        message[i] = (uint8_t)next_random(&message_seed);
    }
    if (send(echo_connection, message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
        return false;
    }
    while (have < sizeof(answer)) {
        ssize_t part = recv(echo_connection, answer + have, sizeof(answer) - have, 0);

        if (part <= 0) {
            return false;
        }
        have += (size_t)part;
    }
    counts.messages++;
    for (size_t i = 0; i < sizeof(answer); i++) {
        counts.wrong += answer[i] != message[i];
    }
    return true;
}

static void *exchange_messages(void *argument)
{
    while (now() < end_time) {
        if (!exchange()) {
            lose(&echo_connection, ECHO_PORT);
        }
    }
    return argument;
}

static void *send_load(void *argument)
{
    static const uint8_t zeros[LOAD_BYTES];

    while (now() < end_time) {
        if (send(load_connection, zeros, sizeof(zeros), 0) <= 0) {
            lose(&load_connection, LOAD_PORT);
        }
    }
    return argument;
}

static uint16_t checksum(const void *data, size_t bytes)
{
    const uint16_t *words = data;
    uint32_t sum = 0;

    for (size_t i = 0; i < bytes / 2; i++) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

static void *send_probes(void *argument)
{
    int probes = *(int *)argument;
    uint16_t number = 0;

    for (uint64_t at = begin_time; at < end_time; at += PERIOD) {
        struct icmphdr request = {.type = ICMP_ECHO, .un.echo = {htons(PROBE_ID), htons(number++)}};

        request.checksum = checksum(&request, sizeof(request));
        sleep_until(at);
        counts.probes += sendto(probes, &request, sizeof(request), 0, (struct sockaddr *)&target,
                                sizeof(target)) == (ssize_t)sizeof(request);
    }
    return NULL;
}

static void note_reply(uint64_t at)
{
    counts.gap = at - counts.last_reply > counts.gap ? at - counts.last_reply : counts.gap;
    counts.last_reply = at;
}

/* Asks longer if the client does not reply shortly before the end. */
static void extend(void)
{
    uint64_t time = now(), end = end_time;

    if (time + QUIET >= end && time - counts.last_reply > QUIET && end < latest_end) {
        end_time = end + QUIET < latest_end ? end + QUIET : latest_end;
    }
}

static void *receive_replies(void *argument)
{
    int probes = *(int *)argument;
    uint8_t packet[1500];
    ssize_t bytes;

    while (now() < end_time) {
        const struct iphdr *ip = (const struct iphdr *)packet;
        struct icmphdr reply;

        extend();
        bytes = recv(probes, packet, sizeof(packet), 0);
        if (bytes < (ssize_t)(sizeof(*ip) + sizeof(reply))) {
            continue; /* also after the time-out of the socket */
        }
        memcpy(&reply, packet + ip->ihl * 4u, sizeof(reply));
        if (reply.type == ICMP_ECHOREPLY && reply.un.echo.id == htons(PROBE_ID)) {
            counts.replies++;
            note_reply(now());
        }
    }
    note_reply(end_time > counts.last_reply ? end_time : counts.last_reply);
    return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument, int priority)
{
    const struct sched_param parameter = {priority};

    (void)pthread_create(thread, NULL, function, argument);
    if (priority != 0) {
        (void)pthread_setschedparam(*thread, SCHED_FIFO, &parameter);
    }
}

/* Asks the client around a window, at the latest until `latest`. */
static void ask_around(int probes, uint64_t begin, uint64_t window, uint64_t latest)
{
    pthread_t threads[4];

    begin_time = begin - BEFORE;
    end_time = begin + window + AFTER;
    latest_end = latest;
    counts = (struct counts){.last_reply = begin_time};
    start(&threads[0], send_probes, &probes, PRIORITY);
    start(&threads[1], receive_replies, &probes, PRIORITY);
    start(&threads[2], exchange_messages, NULL, 0);
    start(&threads[3], send_load, NULL, 0);
    for (unsigned i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static int open_probes(void)
{
    const struct timeval patience = {.tv_usec = 1000};
    int probes = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);

    (void)setsockopt(probes, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return probes;
}

int main(int count, char **arguments)
{
    uint64_t first, pause, window, after, offset;
    unsigned kills;
    int probes;

    if (count != 7 || inet_aton(arguments[1], &target.sin_addr) == 0) {
        (void)fputs("prober: ADDRESS KILLS FIRST PAUSE WINDOW AFTER\n", stderr);
        return 2;
    }
    kills = (unsigned)atoi(arguments[2]);
    first = strtoull(arguments[3], NULL, 0);
    pause = strtoull(arguments[4], NULL, 0);
    window = strtoull(arguments[5], NULL, 0);
    after = strtoull(arguments[6], NULL, 0);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    target.sin_family = AF_INET;
    probes = open_probes();
    echo_connection = connected(ECHO_PORT);
    offset = board_time() - now();
    if (board_time() + LOAD_BEFORE > first) {
        (void)puts("FAIL: prober: connected after the first window");
        return 1;
    }
    sleep_until(first - offset - LOAD_BEFORE);
    load_connection = connected(LOAD_PORT);
    for (unsigned i = 0; i < kills; i++) {
        uint64_t begin = first + i * pause - offset;

        sleep_until(begin - BEFORE);
        ask_around(probes, begin, window, begin + window + after);
        (void)printf("prober: end %u: gap %llu ns, %u probes, %u replies, %u messages, %u wrong, "
                     "%u lost\n",
                     i + 1, (unsigned long long)counts.gap, counts.probes, counts.replies,
                     counts.messages, counts.wrong, counts.lost);
    }
    (void)puts("prober: done");
    return 0;
}
