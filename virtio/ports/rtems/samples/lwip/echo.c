/* SPDX-License-Identifier: BSD-2-Clause */
/* See echo.h. */
#include "echo.h"
#include "lwip/sockets.h"
#include <rtems.h>
#include <stdint.h>
#include <stdio.h>

#define PORT         7
#define BACKLOG      8
#define BUFFER_BYTES 2048
#define STACK_BYTES  (16 * 1024)
#define PRIORITY     120

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

static rtems_task serve(rtems_task_argument argument)
{
    int connection = (int)argument;
    int one = 1;
    char buffer[BUFFER_BYTES];
    ssize_t bytes;

    (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    do {
        bytes = recv(connection, buffer, sizeof(buffer), 0);
    } while (bytes > 0 && send_all(connection, buffer, bytes));
    (void)closesocket(connection);
    rtems_task_exit();
}

static bool start_task(rtems_name name, rtems_task_entry entry, int socket)
{
    rtems_id id;

    if (rtems_task_create(name, PRIORITY, STACK_BYTES, RTEMS_DEFAULT_MODES, RTEMS_FLOATING_POINT,
                          &id) != RTEMS_SUCCESSFUL) {
        return false;
    }
    (void)rtems_task_start(id, entry, (rtems_task_argument)socket);
    return true;
}

static rtems_task listen_for_clients(rtems_task_argument argument)
{
    int listener = (int)argument;

    for (;;) {
        int connection = accept(listener, NULL, NULL);

        if (connection >= 0 &&
            !start_task(rtems_build_name('E', 'C', 'H', '1'), serve, connection)) {
            (void)closesocket(connection);
        }
    }
}

bool echo_start(void)
{
    struct sockaddr_in address = {.sin_len = sizeof(address),
                                  .sin_family = AF_INET,
                                  .sin_port = htons(PORT),
                                  .sin_addr = {.s_addr = htonl(INADDR_ANY)}};
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, BACKLOG) != 0 ||
        !start_task(rtems_build_name('E', 'C', 'H', '0'), listen_for_clients, listener)) {
        printf("sample: no echo service\n");
        return false;
    }
    return true;
}
