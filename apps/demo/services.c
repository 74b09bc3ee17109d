/* SPDX-License-Identifier: BSD-2-Clause */
/* See services.h. */
#include "services.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/sockets.h"
#include <stdbool.h>
#include <string.h>

#define BUFFER_BYTES      2048u
#define POLL_MILLISECONDS 10000
#define PROGRESS_TIMEOUT  (300 * NANOSECONDS_PER_SECOND)
/* Pause after a write that found no memory, in which the stack can free some. */
#define MEMORY_PAUSE (5 * NANOSECONDS_PER_MILLISECOND)

#define NO_SOCKET (-1)

enum service_index { SERVICE_ECHO, SERVICE_DISCARD, SERVICE_ECHO_UDP };

struct connection {
    int socket;        /* NO_SOCKET if the entry is free */
    uint64_t progress; /* time at which bytes were last transferred */
    size_t length;     /* echo: bytes in the buffer */
    size_t sent;       /* echo: bytes of the buffer that were sent back */
    uint8_t buffer[BUFFER_BYTES];
};

struct service {
    struct service_statistics statistics;
    int listener;
    struct connection *connections; /* SERVICE_CONNECTIONS_MAX; NULL for a datagram service */
    bool echoes;
};

static struct connection echo_connections[SERVICE_CONNECTIONS_MAX];
static struct connection discard_connections[SERVICE_CONNECTIONS_MAX];

/* Used only by the thread in services_run(). */
static struct service services[SERVICE_COUNT] = {
    [SERVICE_ECHO] = {.statistics = {.name = "echo", .port = 7},
                      .connections = echo_connections,
                      .echoes = true},
    [SERVICE_DISCARD] = {.statistics = {.name = "discard", .port = 9},
                         .connections = discard_connections},
    [SERVICE_ECHO_UDP] = {.statistics = {.name = "echo-udp", .port = 7}},
};

#define POLLED_MAX (SERVICE_COUNT + 2 * SERVICE_CONNECTIONS_MAX)

/* The service and the connection of an entry of the poll set. */
struct polled {
    struct service *service;
    struct connection *connection; /* NULL for the listener and for the datagram socket */
};

static void set_option(int socket, int level, int name, int value)
{
    (void)lwip_setsockopt(socket, level, name, &value, sizeof(value));
}

static bool open_service(struct service *service)
{
    bool stream = service->connections != NULL;
    struct sockaddr_in6 address;

    memset(&address, 0, sizeof(address));
    address.sin6_family = AF_INET6; /* also IPv4: the unspecified address accepts both */
    address.sin6_port = lwip_htons(service->statistics.port);
    service->listener = lwip_socket(AF_INET6, stream ? SOCK_STREAM : SOCK_DGRAM, 0);
    if (service->listener < 0 ||
        lwip_bind(service->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        (stream && lwip_listen(service->listener, SERVICE_CONNECTIONS_MAX) != 0) ||
        lwip_fcntl(service->listener, F_SETFL, O_NONBLOCK) != 0) {
        return false;
    }
    for (unsigned i = 0; stream && i < SERVICE_CONNECTIONS_MAX; i++) {
        service->connections[i].socket = NO_SOCKET;
    }
    return true;
}

static void close_connection(struct service *service, struct connection *connection)
{
    (void)lwip_close(connection->socket);
    connection->socket = NO_SOCKET;
    service->statistics.open--;
}

static struct connection *free_connection(struct service *service)
{
    for (unsigned i = 0; i < SERVICE_CONNECTIONS_MAX; i++) {
        if (service->connections[i].socket == NO_SOCKET) {
            return &service->connections[i];
        }
    }
    return NULL;
}

static void accept_connection(struct service *service)
{
    struct connection *connection = free_connection(service);
    int socket = lwip_accept(service->listener, NULL, NULL);

    if (socket < 0) {
        return;
    }
    if (connection == NULL || lwip_fcntl(socket, F_SETFL, O_NONBLOCK) != 0) {
        service->statistics.refused++;
        (void)lwip_close(socket);
        return;
    }
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    connection->socket = socket;
    connection->progress = time_now();
    connection->length = 0;
    connection->sent = 0;
    service->statistics.accepted++;
    service->statistics.open++;
}

/* Sends received bytes back. Bytes that the stack does not accept now are sent when the socket is
 * writable. */
static void send_back(struct connection *connection)
{
    ssize_t sent = lwip_send(connection->socket, connection->buffer + connection->sent,
                             connection->length - connection->sent, MSG_DONTWAIT);

    if (sent <= 0) {
        /* There is no memory, or the connection is lost, which the next poll reports. */
        thread_sleep_until(time_after(MEMORY_PAUSE));
        return;
    }
    connection->progress = time_now();
    connection->sent += (size_t)sent;
    if (connection->sent == connection->length) {
        connection->length = 0;
        connection->sent = 0;
    }
}

static void receive(struct service *service, struct connection *connection)
{
    ssize_t received =
        lwip_recv(connection->socket, connection->buffer, BUFFER_BYTES, MSG_DONTWAIT);

    if (received <= 0) {
        /* The socket was readable, so the peer has closed the connection, or it is lost. */
        close_connection(service, connection);
        return;
    }
    connection->progress = time_now();
    service->statistics.bytes += (uint64_t)received;
    if (service->echoes) {
        connection->length = (size_t)received;
        send_back(connection);
    }
}

static void serve_datagram(struct service *service)
{
    static uint8_t datagram[BUFFER_BYTES];
    struct sockaddr_storage peer;
    socklen_t peer_bytes = sizeof(peer);
    ssize_t received = lwip_recvfrom(service->listener, datagram, sizeof(datagram), MSG_DONTWAIT,
                                     (struct sockaddr *)&peer, &peer_bytes);

    if (received < 0) {
        return;
    }
    service->statistics.bytes += (uint64_t)received;
    (void)lwip_sendto(service->listener, datagram, (size_t)received, MSG_DONTWAIT,
                      (struct sockaddr *)&peer, peer_bytes);
}

static void serve(const struct polled *polled, short events)
{
    struct service *service = polled->service;
    struct connection *connection = polled->connection;

    if (events == 0) {
        return;
    }
    if (connection == NULL) {
        if (service->connections == NULL) {
            serve_datagram(service);
        } else {
            accept_connection(service);
        }
    } else if ((events & (POLLERR | POLLNVAL)) != 0) {
        close_connection(service, connection);
    } else if ((events & POLLOUT) != 0 && connection->length != 0) {
        send_back(connection);
    } else if ((events & POLLIN) != 0) {
        receive(service, connection);
    }
}

static void watch(struct pollfd *poll, struct polled *polled, struct service *service,
                  struct connection *connection)
{
    polled->service = service;
    polled->connection = connection;
    poll->fd = connection == NULL ? service->listener : connection->socket;
    poll->events = connection != NULL && connection->length != 0 ? POLLOUT : POLLIN;
    poll->revents = 0;
}

/* Fills the poll set; closes connections that made no progress for too long. */
static unsigned watch_all(struct pollfd *polls, struct polled *polled)
{
    uint64_t now = time_now();
    unsigned count = 0;

    for (unsigned i = 0; i < SERVICE_COUNT; i++) {
        struct service *service = &services[i];

        watch(&polls[count], &polled[count], service, NULL);
        count++;
        for (unsigned c = 0; service->connections != NULL && c < SERVICE_CONNECTIONS_MAX; c++) {
            struct connection *connection = &service->connections[c];

            if (connection->socket == NO_SOCKET) {
                continue;
            }
            if (now - connection->progress > PROGRESS_TIMEOUT) {
                close_connection(service, connection);
                continue;
            }
            watch(&polls[count], &polled[count], service, connection);
            count++;
        }
    }
    return count;
}

enum result services_open(void)
{
    for (unsigned i = 0; i < SERVICE_COUNT; i++) {
        if (!open_service(&services[i])) {
            print("demo: no socket for %s\n", services[i].statistics.name);
            return RESULT_NO_MEMORY;
        }
    }
    return RESULT_OK;
}

void services_run(void)
{
    struct pollfd polls[POLLED_MAX];
    struct polled polled[POLLED_MAX];

    for (;;) {
        unsigned count = watch_all(polls, polled);

        if (lwip_poll(polls, count, POLL_MILLISECONDS) < 0) {
            /* There is no memory for the wait itself. */
            thread_sleep_until(time_after(MEMORY_PAUSE));
            continue;
        }
        /* A listener comes before its connections in the poll set and is served after them, so that
         * connections that closed earlier have already freed their places for the new one. */
        for (unsigned i = count; i-- > 0;) {
            serve(&polled[i], polls[i].revents);
        }
    }
}

void services_statistics(struct service_statistics statistics[SERVICE_COUNT])
{
    for (unsigned i = 0; i < SERVICE_COUNT; i++) {
        statistics[i] = services[i].statistics;
    }
}
