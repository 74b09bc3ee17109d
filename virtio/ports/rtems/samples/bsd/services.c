/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample.h. The services use sockets as on any POSIX system. */
#include "sample.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rtems.h>
#include <rtems/thread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PRIORITY     120 /* less urgent than the stack's tasks, which have 100 */
#define BUFFER_BYTES 16384u
#define STACK_BYTES  (BUFFER_BYTES + 16384u)
#define BACKLOG      4

struct service {
    const char *name;
    uint16_t port;
    unsigned workers;
    void (*serve)(int socket, const struct sockaddr_in *peer);
    int listener;
    rtems_mutex accepting; /* held in accept(): the stack panics if two tasks wait on a socket */
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

#define IPERF_ANSWER 0x80000000u /* the client requests a test in the opposite direction */

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
    uint8_t buffer[BUFFER_BYTES];
    int on = 1;
    ssize_t bytes;

    (void)peer;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    do {
        bytes = recv(socket, buffer, sizeof(buffer), 0);
    } while (bytes > 0 && send_all(socket, buffer, (size_t)bytes));
}

/* Receives a stream to its end, and copies its first bytes to `header`. Returns true if the stream
 * was long enough to fill the header. */
static bool receive_stream(int socket, struct iperf_header *header, uint64_t *total)
{
    uint8_t buffer[BUFFER_BYTES];
    ssize_t bytes;

    *total = 0;
    while ((bytes = recv(socket, buffer, sizeof(buffer), 0)) > 0) {
        if (*total < sizeof(*header)) {
            size_t missing = sizeof(*header) - (size_t)*total;

            memcpy((uint8_t *)header + *total, buffer,
                   (size_t)bytes < missing ? (size_t)bytes : missing);
        }
        *total += (uint64_t)bytes;
    }
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

static struct service services[] = {
    {.name = "echo", .port = 7, .workers = 8, .serve = serve_echo},
    {.name = "iperf", .port = 5001, .workers = 4, .serve = serve_iperf},
    {.name = "counters", .port = 2020, .workers = 2, .serve = serve_counters},
};

static int accept_connection(struct service *service, struct sockaddr_in *peer)
{
    socklen_t bytes = sizeof(*peer);
    int socket;

    rtems_mutex_lock(&service->accepting);
    socket = accept(service->listener, (struct sockaddr *)peer, &bytes);
    rtems_mutex_unlock(&service->accepting);
    return socket;
}

static void work(rtems_task_argument argument)
{
    struct service *service = (struct service *)argument;

    for (;;) {
        struct sockaddr_in peer;
        int socket = accept_connection(service, &peer);

        if (socket < 0) {
            /* accept() fails if there is no memory, for example. */
            (void)rtems_task_wake_after(rtems_clock_get_ticks_per_second() / 10);
            continue;
        }
        service->serve(socket, &peer);
        (void)close(socket);
    }
}

static bool open_listener(struct service *service)
{
    struct sockaddr_in address = {.sin_len = sizeof(address), .sin_family = AF_INET};
    int on = 1;

    address.sin_port = htons(service->port);
    service->listener = socket(AF_INET, SOCK_STREAM, 0);
    /* Accepted connections inherit this option. */
    (void)setsockopt(service->listener, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    return service->listener >= 0 &&
           bind(service->listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           listen(service->listener, BACKLOG) == 0;
}

static bool start_worker(struct service *service)
{
    rtems_id task;

    return rtems_task_create(rtems_build_name('S', 'E', 'R', 'V'), PRIORITY, STACK_BYTES,
                             RTEMS_DEFAULT_MODES, RTEMS_DEFAULT_ATTRIBUTES,
                             &task) == RTEMS_SUCCESSFUL &&
           rtems_task_start(task, work, (rtems_task_argument)service) == RTEMS_SUCCESSFUL;
}

static void start_service(struct service *service)
{
    rtems_mutex_init(&service->accepting, service->name);
    if (!open_listener(service)) {
        printf("%s: port %u: %s\n", service->name, service->port, strerror(errno));
        return;
    }
    for (unsigned i = 0; i < service->workers; i++) {
        if (!start_worker(service)) {
            printf("%s: cannot create a task\n", service->name);
            return;
        }
    }
}

void services_start(void)
{
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        start_service(&services[i]);
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
