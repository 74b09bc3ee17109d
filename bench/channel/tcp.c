/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages through TCP in the Linux guests of ./bulkhead bench channel, as
 * bench/channel/guests/speed/tcp.c measures them in our kernel, with the same services.
 *
 *   tcp serve                                      discard (port 9) and echo (port 7)
 *   tcp measure ADDRESS MILLISECONDS TRIPS BYTES   a transfer, then round trips of messages
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static void serve_connection(int socket, bool echoes)
{
    ssize_t length;

    if (echoes) {
        set_no_delay(socket);
    }
    while ((length = read(socket, buffer, sizeof(buffer))) > 0) {
        read_content((size_t)length);
        if (echoes) {
            send_all(socket, (size_t)length);
        }
    }
    (void)close(socket);
}

static _Noreturn void serve(uint16_t port, bool echoes)
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
            serve_connection(socket, echoes);
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

static uint64_t context_switches(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void measure_stream(const char *address, uint64_t duration, size_t bytes)
{
    const int on = 1;
    int socket = connect_to(address, PORT_DISCARD);
    uint64_t batch = bytes >= BYTES_PER_LOOK ? 1 : BYTES_PER_LOOK / bytes;
    uint64_t switches = context_switches();
    uint64_t begin = now();
    uint64_t messages = 0;

    /* Small messages share segments, as in our kernel, which writes until a buffer is full. */
    (void)setsockopt(socket, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    while (now() - begin < duration) {
        for (uint64_t i = 0; i < batch; i++) {
            send_all(socket, bytes);
        }
        messages += batch;
    }
    (void)shutdown(socket, SHUT_WR);
    /* The service closes the connection when it has read everything. */
    (void)receive_all(socket, 1);
    printf("tcp: stream %zu %llu %llu switches %llu\n", bytes, (unsigned long long)messages,
           (unsigned long long)(now() - begin),
           (unsigned long long)(context_switches() - switches));
    (void)close(socket);
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

int main(int count, char *words[])
{
    if (count == 2 && strcmp(words[1], "serve") == 0) {
        if (fork() == 0) {
            serve(PORT_ECHO, true);
        }
        serve(PORT_DISCARD, false);
    }
    if (count == 6 && strcmp(words[1], "measure") == 0) {
        size_t trips = strtoul(words[4], NULL, 10);
        size_t bytes = strtoul(words[5], NULL, 10);

        if (trips > 0 && trips <= ROUND_TRIPS_MAX && bytes > 0 && bytes <= MESSAGE_MAX) {
            measure_stream(words[2], strtoul(words[3], NULL, 10) * UINT64_C(1000000), bytes);
            measure_round_trips(words[2], trips, bytes);
            return 0;
        }
    }
    (void)fputs("tcp: serve | measure ADDRESS MILLISECONDS TRIPS BYTES\n", stderr);
    return 2;
}
