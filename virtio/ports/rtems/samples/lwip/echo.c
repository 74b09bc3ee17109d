/* SPDX-License-Identifier: BSD-2-Clause */
/* See echo.h. */
#include "echo.h"
#include "lwip/sockets.h"
#include <rtems.h>
#include <rtems/thread.h>
#include <stdint.h>
#include <stdio.h>

#define PORT         7
#define BACKLOG      8
#define WORKERS      8
#define BUFFER_BYTES 2048
#define STACK_BYTES  (16 * 1024)
#define PRIORITY     120

/* Held in accept(), because two tasks may not use one socket of lwIP at the same time. */
static rtems_mutex accepting = RTEMS_MUTEX_INITIALIZER("echo");

static bool send_all(int connection, const char *data, ssize_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(connection, data, (size_t)bytes, 0);

        if (sent <= 0) {
            return false;
        }
        data += sent;
        bytes -= sent;
    }
    return true;
}

static void serve(int connection)
{
    int one = 1;
    char buffer[BUFFER_BYTES];
    ssize_t bytes;

    (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    do {
        bytes = recv(connection, buffer, sizeof(buffer), 0);
    } while (bytes > 0 && send_all(connection, buffer, bytes));
    (void)closesocket(connection);
}

static rtems_task work(rtems_task_argument listener)
{
    for (;;) {
        int connection;

        rtems_mutex_lock(&accepting);
        connection = accept((int)listener, NULL, NULL);
        rtems_mutex_unlock(&accepting);
        if (connection >= 0) {
            serve(connection);
        }
    }
}

static bool start_workers(int listener)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        rtems_id id;

        if (rtems_task_create(rtems_build_name('E', 'C', 'H', 'O'), PRIORITY, STACK_BYTES,
                              RTEMS_DEFAULT_MODES, RTEMS_FLOATING_POINT, &id) != RTEMS_SUCCESSFUL) {
            return false;
        }
        (void)rtems_task_start(id, work, (rtems_task_argument)listener);
    }
    return true;
}

bool echo_start(void)
{
    struct sockaddr_in address = {.sin_len = sizeof(address),
                                  .sin_family = AF_INET,
                                  .sin_port = htons(PORT),
                                  .sin_addr = {.s_addr = htonl(INADDR_ANY)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;

    /* Accepted connections inherit this option. */
    (void)setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, BACKLOG) != 0 || !start_workers(listener)) {
        printf("sample: the echo service cannot be started\n");
        return false;
    }
    return true;
}
