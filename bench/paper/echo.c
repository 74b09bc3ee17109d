/* SPDX-License-Identifier: BSD-2-Clause */
/* The Linux guest's echo service (RFC 862, TCP), for one client at a time. The demo contains the
 * echo service of our guest. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ECHO_PORT 7

static bool send_all(int connection, const char *data, ssize_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(connection, data, (size_t)bytes, MSG_NOSIGNAL);

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
    static char buffer[2048];
    ssize_t received;

    (void)setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    while ((received = recv(connection, buffer, sizeof(buffer), 0)) > 0 &&
           send_all(connection, buffer, received)) {
    }
    (void)close(connection);
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 4) != 0) {
        perror("echo");
        return 1;
    }
    for (;;) {
        int connection = accept(listener, NULL, NULL);

        if (connection >= 0) {
            serve(connection);
        }
    }
}
