/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages through TCP in the Linux guests of ./bulkhead bench channel, as
 * bench/channel/guests/speed/tcp.c measures them in our kernel, with the same services.
 *
 *   tcp serve                                      discard (port 9) and echo (port 7)
 *   tcp measure ADDRESS MILLISECONDS TRIPS BYTES   a transfer, then round trips of messages
 *   tcp count ADDRESS MILLISECONDS NAME PERIOD     a transfer of messages of 64 KiB, one in each
 *                                                  PERIOD microseconds or, if it is 0, as many as
 *                                                  possible; prints what Linux did meanwhile
 *
 * Whoever sends a message writes each byte of it, and whoever receives it reads each byte. For each
 * connection to discard, the services print what their Linux did meanwhile.
 */
#include "usage.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT_ECHO       7
#define PORT_DISCARD    9
#define MESSAGE_MAX     65536
#define BYTES_PER_LOOK  4096 /* bytes that are sent between two looks at the clock */
#define CONNECT_TRIES   100
#define CONNECT_PAUSE   100000 /* microseconds */
#define ROUND_TRIPS_MAX 100000
#define PRINT_PAUSE     200000 /* microseconds */

static uint8_t buffer[MESSAGE_MAX];
static volatile uint64_t content_sum; /* so that the content is read */

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Makes a message. */
static void fill(size_t bytes)
{
    if (bytes == sizeof(uint64_t)) {
        memset(buffer, 0x5a, sizeof(uint64_t));
    } else {
        memset(buffer, 0x5a, bytes);
    }
}

static void read_content(size_t bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, buffer + i, sizeof(word));
        sum += word;
    }
    content_sum = sum;
}

static void send_all(int socket, size_t bytes)
{
    for (size_t sent = 0; sent < bytes;) {
        ssize_t length = write(socket, buffer + sent, bytes - sent);

        if (length <= 0) {
            fail("tcp: write");
        }
        sent += (size_t)length;
    }
}

/* Receives and reads up to `bytes`. Returns false if the peer has closed the connection. */
static bool receive_all(int socket, size_t bytes)
{
    for (size_t received = 0; received < bytes;) {
        ssize_t length = read(socket, buffer, bytes - received);

        if (length <= 0) {
            return false;
        }
        read_content((size_t)length);
        received += (size_t)length;
    }
    return true;
}

static void set_no_delay(int socket)
{
    const int on = 1;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void serve_echo(int socket)
{
    ssize_t length;

    set_no_delay(socket);
    while ((length = read(socket, buffer, sizeof(buffer))) > 0) {
        read_content((size_t)length);
        send_all(socket, (size_t)length);
    }
    (void)close(socket);
}

static void serve_discard(int socket)
{
    struct usage begin = usage_now();
    struct usage end;
    uint64_t bytes = 0;
    ssize_t length;

    while ((length = read(socket, buffer, sizeof(buffer))) > 0) {
        read_content((size_t)length);
        bytes += (uint64_t)length;
    }
    (void)close(socket);
    end = usage_now();
    printf("tcp: served %llu", (unsigned long long)bytes);
    usage_print(&begin, &end);
}

static _Noreturn void serve(uint16_t port, void (*serve_connection)(int socket))
{
    const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 4) != 0) {
        fail("tcp: listen");
    }
    for (;;) {
        int socket = accept(listener, NULL, NULL);

        if (socket >= 0) {
            serve_connection(socket);
        }
    }
}

static int connect_to(const char *text, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    if (inet_aton(text, &address.sin_addr) == 0) {
        fail(text);
    }
    /* The other partition may not have started its services yet. */
    for (unsigned tries = 0; tries < CONNECT_TRIES; tries++) {
        int peer = socket(AF_INET, SOCK_STREAM, 0);

        if (connect(peer, (struct sockaddr *)&address, sizeof(address)) == 0) {
            return peer;
        }
        (void)close(peer);
        (void)usleep(CONNECT_PAUSE);
    }
    fail("tcp: connect");
}

static void sleep_until(uint64_t time)
{
    struct timespec until = {
        .tv_sec = (time_t)(time / UINT64_C(1000000000)),
        .tv_nsec = (long)(time % UINT64_C(1000000000)),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* A transfer in one direction. */
struct measured {
    uint64_t messages;
    uint64_t nanoseconds;
};

static struct measured transfer(const char *address, uint64_t duration, size_t bytes,
                                uint64_t period)
{
    const int on = 1;
    int socket = connect_to(address, PORT_DISCARD);
    uint64_t batch = bytes >= BYTES_PER_LOOK || period != 0 ? 1 : BYTES_PER_LOOK / bytes;
    uint64_t begin = now();
    uint64_t messages = 0;

    /* Small messages share segments, as in our kernel, which writes until a buffer is full. */
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    while (now() - begin < duration) {
        if (period != 0) {
            sleep_until(begin + messages * period);
        }
        for (uint64_t i = 0; i < batch; i++) {
            fill(bytes);
            send_all(socket, bytes);
        }
        messages += batch;
    }
    (void)shutdown(socket, SHUT_WR);
    /* The service closes the connection when it has read everything. */
    (void)receive_all(socket, 1);
    (void)close(socket);
    return (struct measured){.messages = messages, .nanoseconds = now() - begin};
}

/* Lets the other end print its line: lines that two partitions print at the same time are printed
 * in parts. */
static void pause_for_print(void)
{
    (void)usleep(PRINT_PAUSE);
}

static void measure_stream(const char *address, uint64_t duration, size_t bytes)
{
    struct measured measured = transfer(address, duration, bytes, 0);

    pause_for_print();
    printf("tcp: stream %zu %llu %llu\n", bytes, (unsigned long long)measured.messages,
           (unsigned long long)measured.nanoseconds);
}

static void count(const char *address, uint64_t duration, const char *name, uint64_t period)
{
    struct usage begin = usage_now();
    struct measured measured = transfer(address, duration, MESSAGE_MAX, period);
    struct usage end = usage_now();

    pause_for_print();
    printf("tcp: count %s %llu %llu", name, (unsigned long long)measured.messages,
           (unsigned long long)measured.nanoseconds);
    usage_print(&begin, &end);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void measure_round_trips(const char *address, size_t trips, size_t bytes)
{
    static uint64_t times[ROUND_TRIPS_MAX];
    int socket = connect_to(address, PORT_ECHO);

    set_no_delay(socket);
    for (size_t i = 0; i < trips; i++) {
        uint64_t begin = now();

        fill(bytes);
        send_all(socket, bytes);
        if (!receive_all(socket, bytes)) {
            fail("tcp: read");
        }
        times[i] = now() - begin;
    }
    qsort(times, trips, sizeof(times[0]), compare);
    printf("tcp: trip %zu %zu %llu\n", bytes, trips, (unsigned long long)times[trips / 2]);
    (void)close(socket);
}

int main(int word_count, char *words[])
{
    if (word_count == 2 && strcmp(words[1], "serve") == 0) {
        if (fork() == 0) {
            serve(PORT_ECHO, serve_echo);
        }
        serve(PORT_DISCARD, serve_discard);
    }
    if (word_count == 6 && strcmp(words[1], "count") == 0) {
        count(words[2], strtoul(words[3], NULL, 10) * UINT64_C(1000000), words[4],
              strtoul(words[5], NULL, 10) * UINT64_C(1000));
        return 0;
    }
    if (word_count == 6 && strcmp(words[1], "measure") == 0) {
        size_t trips = strtoul(words[4], NULL, 10);
        size_t bytes = strtoul(words[5], NULL, 10);

        if (trips > 0 && trips <= ROUND_TRIPS_MAX && bytes > 0 && bytes <= MESSAGE_MAX) {
            measure_stream(words[2], strtoul(words[3], NULL, 10) * UINT64_C(1000000), bytes);
            measure_round_trips(words[2], trips, bytes);
            return 0;
        }
    }
    (void)fputs("tcp: serve | measure ADDRESS MILLISECONDS TRIPS BYTES | "
                "count ADDRESS MILLISECONDS NAME PERIOD\n",
                stderr);
    return 2;
}
