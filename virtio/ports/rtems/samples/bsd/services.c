/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample.h. Sockets as in any other program. */
#include "sample.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rtems.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PRIORITY     120 /* below the stack's tasks, which have 100 */
#define STACK_BYTES  16384u
#define BUFFER_BYTES 16384u
#define BACKLOG      4

struct service {
    const char *name;
    uint16_t port;
    void (*serve)(int socket, const struct sockaddr_in *peer);
};

struct connection {
    const struct service *service;
    int socket;
    struct sockaddr_in peer;
};

/* The first 24 bytes of an iperf 2 client's stream: numbers in network byte order. */
struct iperf_header {
    uint32_t flags;
    uint32_t threads;
    uint32_t port;
    uint32_t buffer;
    uint32_t window;
    uint32_t amount; /* bytes, or, negative, hundredths of a second */
};

#define IPERF_ANSWER 0x80000000u /* the opposite test is to follow */

static uint32_t milliseconds_since(uint64_t began)
{
    return (uint32_t)((rtems_clock_get_uptime_nanoseconds() - began) / 1000000u);
}

static bool send_all(int socket, const uint8_t *data, size_t bytes)
{
    while (bytes != 0) {
        ssize_t sent = send(socket, data, bytes, 0);

        if (sent <= 0) {
            return false;
        }
        data += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static void serve_echo(int socket, const struct sockaddr_in *peer)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    int on = 1;
    ssize_t bytes;

    (void)peer;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    while (buffer != NULL && (bytes = recv(socket, buffer, BUFFER_BYTES, 0)) > 0) {
        if (!send_all(socket, buffer, (size_t)bytes)) {
            break;
        }
    }
    free(buffer);
}

/* True: `header` is filled in, from the first bytes of the stream. */
static bool receive_stream(int socket, struct iperf_header *header, uint64_t *total)
{
    uint8_t *buffer = malloc(BUFFER_BYTES);
    ssize_t bytes;

    *total = 0;
    while (buffer != NULL && (bytes = recv(socket, buffer, BUFFER_BYTES, 0)) > 0) {
        if (*total < sizeof(*header)) {
            size_t missing = sizeof(*header) - (size_t)*total;

            memcpy((uint8_t *)header + *total, buffer,
                   (size_t)bytes < missing ? (size_t)bytes : missing);
        }
        *total += (uint64_t)bytes;
    }
    free(buffer);
    return *total >= sizeof(*header);
}

static void answer(const struct iperf_header *header, const struct sockaddr_in *peer)
{
    int32_t amount = (int32_t)ntohl(header->amount);
    uint64_t bytes = amount > 0 ? (uint64_t)amount : 0;
    uint32_t limit = amount > 0 ? 0 : 10u * (0u - (uint32_t)amount);
    uint32_t took;
    int64_t sent =
        send_stream(peer->sin_addr.s_addr, (uint16_t)ntohl(header->port), bytes, limit, &took);

    if (sent < 0) {
        printf("iperf: %s\n", strerror(errno));
        return;
    }
    printf("iperf: sent %" PRId64 " bytes in %" PRIu32 " ms\n", sent, took);
}

static void serve_iperf(int socket, const struct sockaddr_in *peer)
{
    uint64_t began = rtems_clock_get_uptime_nanoseconds();
    struct iperf_header header;
    uint64_t total;
    bool complete = receive_stream(socket, &header, &total);

    printf("iperf: received %" PRIu64 " bytes in %" PRIu32 " ms\n", total,
           milliseconds_since(began));
    if (complete && (ntohl(header.flags) & IPERF_ANSWER) != 0) {
        answer(&header, peer);
    }
}

static void serve_counters(int socket, const struct sockaddr_in *peer)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    (void)peer;
    if (stream == NULL) {
        return;
    }
    vnetstat_print(stream);
    (void)fclose(stream);
    (void)send_all(socket, (const uint8_t *)text, bytes);
    free(text);
}

static const struct service services[] = {
    {"echo", 7, serve_echo},
    {"iperf", 5001, serve_iperf},
    {"counters", 2020, serve_counters},
};

static bool start_task(rtems_task_entry entry, const void *argument)
{
    rtems_id task;

    return rtems_task_create(rtems_build_name('S', 'E', 'R', 'V'), PRIORITY, STACK_BYTES,
                             RTEMS_DEFAULT_MODES, RTEMS_DEFAULT_ATTRIBUTES,
                             &task) == RTEMS_SUCCESSFUL &&
           rtems_task_start(task, entry, (rtems_task_argument)argument) == RTEMS_SUCCESSFUL;
}

static void serve_connection(rtems_task_argument argument)
{
    struct connection *connection = (struct connection *)argument;

    connection->service->serve(connection->socket, &connection->peer);
    (void)close(connection->socket);
    free(connection);
    rtems_task_exit();
}

static bool start_connection(const struct service *service, int socket,
                             const struct sockaddr_in *peer)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        return false;
    }
    connection->service = service;
    connection->socket = socket;
    connection->peer = *peer;
    if (!start_task(serve_connection, connection)) {
        free(connection);
        return false;
    }
    return true;
}

static void accept_connection(const struct service *service, int listener)
{
    struct sockaddr_in peer;
    socklen_t peer_bytes = sizeof(peer);
    int socket = accept(listener, (struct sockaddr *)&peer, &peer_bytes);
    int on = 1;

    if (socket < 0) {
        (void)rtems_task_wake_after(rtems_clock_get_ticks_per_second() / 10); /* no memory, say */
        return;
    }
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!start_connection(service, socket, &peer)) {
        (void)close(socket);
    }
}

static void run_service(rtems_task_argument argument)
{
    const struct service *service = (const struct service *)argument;
    struct sockaddr_in address = {.sin_len = sizeof(address), .sin_family = AF_INET};
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons(service->port);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, BACKLOG) != 0) {
        printf("%s: port %u: %s\n", service->name, service->port, strerror(errno));
        rtems_task_exit();
    }
    for (;;) {
        accept_connection(service, listener);
    }
}

void services_start(void)
{
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        if (!start_task(run_service, &services[i])) {
            printf("%s: no task\n", services[i].name);
        }
    }
}

int64_t send_stream(uint32_t address, uint16_t port, uint64_t bytes, uint32_t milliseconds,
                    uint32_t *took)
{
    static const uint8_t zeros[BUFFER_BYTES];
    struct sockaddr_in peer = {.sin_len = sizeof(peer), .sin_family = AF_INET};
    uint64_t began = rtems_clock_get_uptime_nanoseconds();
    int64_t sent = -1;
    int stream = socket(AF_INET, SOCK_STREAM, 0);

    peer.sin_addr.s_addr = address;
    peer.sin_port = htons(port);
    if (stream >= 0 && connect(stream, (struct sockaddr *)&peer, sizeof(peer)) == 0) {
        began = rtems_clock_get_uptime_nanoseconds();
        sent = 0;
        while ((bytes == 0 || (uint64_t)sent < bytes) &&
               (milliseconds == 0 || milliseconds_since(began) < milliseconds)) {
            uint64_t left = bytes == 0 ? sizeof(zeros) : bytes - (uint64_t)sent;
            size_t piece = left < sizeof(zeros) ? (size_t)left : sizeof(zeros);

            if (!send_all(stream, zeros, piece)) {
                break;
            }
            sent += (int64_t)piece;
        }
    }
    *took = milliseconds_since(began);
    if (stream >= 0) {
        (void)close(stream);
    }
    return sent;
}
