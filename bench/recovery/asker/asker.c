/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients in Linux that ask a server for its page, order faults at random instants, and report the
 * longest time without a reply around each of them.
 *
 *     asker ADDRESS keep|close CLIENTS faults N SEED    N faults
 *     asker ADDRESS keep|close 1 requests N             N requests without a fault
 *
 * With `keep` each client has one connection, with `close` a connection for each request. Around a
 * fault a request begins every PERIOD, whatever became of those before, if one of the clients does
 * not wait for a reply. A single client asks without a pause. Output:
 *
 *     asker: fault I at D ns: gap G ns, wait W ns, R replies, X wrong, F failed
 *     asker: done
 *
 * D is the time from the order to the fault. G is the longest time between two replies to any
 * client, W the longest time from a request to its reply. F counts requests without a whole reply:
 * the connection was reset or closed, or nothing came for PATIENCE_SECONDS.
 */
#define _GNU_SOURCE
#include "page.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_SECONDS 30
#define NANOSECONDS      1000000000ull
#define MILLISECOND      1000000ull
/* More than a second, so that the hypervisor admits each restart at once (restarts = "16 in 1 s").
 */
#define PAUSE (1100 * MILLISECOND)
/* Between the beginnings of two requests, if there are several clients. */
#define PERIOD MILLISECOND
/* Time in which the clients ask before the order. */
#define WARM_UP (3 * MILLISECOND)
/* A fault comes within this time of its order. */
#define FAULT_WITHIN (10 * MILLISECOND)
/* Requests begin for this time after the fault. */
#define AFTER       (30 * MILLISECOND)
#define CLIENTS_MAX 16u

struct counts {
    unsigned replies;
    unsigned wrong;
    unsigned failed;
};

struct client {
    int connection; /* -1: none */
    struct counts counts;
    uint64_t longest; /* time from a request to its reply */
    char reply[PAGE_LENGTH + 1024];
};

static struct sockaddr_in server;
static bool keeps;
static struct client clients[CLIENTS_MAX];

/* Of all clients, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_reply, longest_gap;
static uint64_t next_request;          /* time at which it begins */
static uint64_t end_time = UINT64_MAX; /* no request begins later */

static char page[PAGE_LENGTH];

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

static void pause_for(uint64_t nanoseconds)
{
    const struct timespec time = {(time_t)(nanoseconds / NANOSECONDS),
                                  (long)(nanoseconds % NANOSECONDS)};

    (void)nanosleep(&time, NULL);
}

/* Returns the next number of a sequence (xorshift64, Marsaglia 2003). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void disconnect(struct client *client)
{
    if (client->connection >= 0) {
        (void)close(client->connection);
        client->connection = -1;
    }
}

static bool is_connected(struct client *client)
{
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    const int one = 1;

    if (client->connection >= 0) {
        return true;
    }
    client->connection = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(client->connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(client->connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    (void)setsockopt(client->connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return connect(client->connection, (struct sockaddr *)&server, sizeof(server)) == 0;
}

/* Receives until the buffer has `end` bytes. Returns false if the connection ends before. */
static bool receive(struct client *client, size_t *have, size_t end)
{
    while (*have < end) {
        ssize_t part =
            recv(client->connection, client->reply + *have, sizeof(client->reply) - *have, 0);

        if (part <= 0) {
            return false;
        }
        *have += (size_t)part;
    }
    return true;
}

/* Receives the header. Returns its length, 0 if the connection ends before. */
static size_t receive_header(struct client *client, size_t *have)
{
    static const char end[] = "\r\n\r\n";

    for (;;) {
        char *found = memmem(client->reply, *have, end, 4);

        if (found != NULL) {
            return (size_t)(found - client->reply) + 4;
        }
        if (!receive(client, have, *have + 1)) {
            return 0;
        }
    }
}

static void make_page(void)
{
    for (uint32_t i = 0; i < PAGE_LENGTH; i++) {
        page[i] = page_letter(i);
    }
}

static bool ask(struct client *client, const char *request, size_t bytes)
{
    size_t have = 0, header;

    if (!is_connected(client) || send(client->connection, request, bytes, 0) != (ssize_t)bytes) {
        return false;
    }
    header = receive_header(client, &have);
    if (header == 0 || !receive(client, &have, header + PAGE_LENGTH)) {
        return false;
    }
    if (have != header + PAGE_LENGTH || memcmp(client->reply, "HTTP/1.", 7) != 0 ||
        memcmp(client->reply + header, page, PAGE_LENGTH) != 0) {
        client->counts.wrong++;
    }
    return true;
}

/* Makes a request. Returns true if a whole reply came. */
static bool request(struct client *client)
{
    char text[128];
    int bytes = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: s\r\nConnection: %s\r\n\r\n",
                         keeps ? "keep-alive" : "close");
    bool is_whole = ask(client, text, (size_t)bytes);

    client->counts.replies += is_whole;
    client->counts.failed += !is_whole;
    if (!is_whole || !keeps) {
        disconnect(client);
    }
    return is_whole;
}

static void raise_to(uint64_t *longest, uint64_t time)
{
    *longest = time > *longest ? time : *longest;
}

static void note_reply(struct client *client, uint64_t began)
{
    uint64_t at;

    (void)pthread_mutex_lock(&lock);
    at = now();
    raise_to(&client->longest, at - began);
    if (last_reply + 2 * PERIOD < end_time) { /* later, no replies are expected */
        raise_to(&longest_gap, at - last_reply);
    }
    last_reply = at;
    (void)pthread_mutex_unlock(&lock);
}

static void order_fault(uint32_t nanoseconds)
{
    const struct fault_order order = {htonl(nanoseconds)};
    struct sockaddr_in place = server;
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);

    place.sin_port = htons(FAULT_PORT);
    (void)sendto(datagrams, &order, sizeof(order), 0, (struct sockaddr *)&place, sizeof(place));
    (void)close(datagrams);
}

/* Takes the next time to begin a request. Returns false if there is none. */
static bool take_time(uint64_t *begin)
{
    bool is_there;

    (void)pthread_mutex_lock(&lock);
    *begin = next_request > now() ? next_request : now();
    is_there = *begin < end_time;
    next_request = *begin + PERIOD;
    (void)pthread_mutex_unlock(&lock);
    return is_there;
}

static void *ask_at_times(void *argument)
{
    struct client *client = argument;
    uint64_t begin;

    while (take_time(&begin)) {
        if (begin > now()) {
            pause_for(begin - now());
        }
        begin = now();
        if (request(client)) {
            note_reply(client, begin);
        }
    }
    return NULL;
}

static void *ask_without_pause(void *argument)
{
    struct client *client = argument;
    uint64_t begin;

    while ((begin = now()) < end_time) {
        if (request(client)) {
            note_reply(client, begin);
        }
    }
    return NULL;
}

static void begin_counts(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        clients[i].counts = (struct counts){0};
        clients[i].longest = 0;
    }
    longest_gap = 0;
    last_reply = now();
    next_request = last_reply;
}

/* Lets all clients ask around a fault. */
static void ask_around(unsigned count, uint64_t fault_after)
{
    pthread_t threads[CLIENTS_MAX];

    begin_counts(count);
    end_time = last_reply + WARM_UP + FAULT_WITHIN + AFTER;
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_create(&threads[i], NULL, count == 1 ? ask_without_pause : ask_at_times,
                             &clients[i]);
    }
    pause_for(WARM_UP);
    order_fault((uint32_t)fault_after);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static void report(unsigned number, unsigned count, uint64_t after)
{
    struct counts sum = {0};
    uint64_t wait = 0;

    for (unsigned i = 0; i < count; i++) {
        sum.replies += clients[i].counts.replies;
        sum.wrong += clients[i].counts.wrong;
        sum.failed += clients[i].counts.failed;
        raise_to(&wait, clients[i].longest);
    }
    (void)printf("asker: fault %u at %llu ns: gap %llu ns, wait %llu ns, %u replies, %u wrong, "
                 "%u failed\n",
                 number, (unsigned long long)after, (unsigned long long)longest_gap,
                 (unsigned long long)wait, sum.replies, sum.wrong, sum.failed);
}

static void have_faults(unsigned count, unsigned faults, uint64_t seed)
{
    for (unsigned i = 1; i <= faults; i++) {
        uint64_t after;

        pause_for(PAUSE);
        after = next_random(&seed) % FAULT_WITHIN;
        ask_around(count, after);
        report(i, count, after);
    }
}

static void make_requests(unsigned requests)
{
    const struct counts *counts = &clients[0].counts;
    uint64_t began = now();

    while (counts->replies + counts->failed < requests) {
        (void)request(&clients[0]);
    }
    (void)printf("asker: requests: %u replies, %u wrong, %u failed in %llu ns\n", counts->replies,
                 counts->wrong, counts->failed, (unsigned long long)(now() - began));
}

int main(int count, char **arguments)
{
    unsigned client_count = count > 3 ? (unsigned)atoi(arguments[3]) : 0;

    if (count < 6 || inet_aton(arguments[1], &server.sin_addr) == 0 || client_count == 0 ||
        client_count > CLIENTS_MAX) {
        (void)fputs("asker: ADDRESS keep|close CLIENTS faults N SEED | requests N\n", stderr);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    server.sin_family = AF_INET;
    server.sin_port = htons(HTTP_SERVER_PORT);
    keeps = strcmp(arguments[2], "keep") == 0;
    make_page();
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        clients[i].connection = -1;
    }
    if (strcmp(arguments[4], "faults") == 0 && count == 7) {
        have_faults(client_count, (unsigned)atoi(arguments[5]), strtoull(arguments[6], NULL, 0));
    } else {
        make_requests((unsigned)atoi(arguments[5]));
    }
    (void)puts("asker: done");
    return 0;
}
