/* SPDX-License-Identifier: BSD-2-Clause */
/* The system's calls on sockets under names that both guests have (../rounds.c): Linux. */
#ifndef COST_SOCKETS_H
#define COST_SOCKETS_H

#include <stddef.h>
#include <sys/socket.h>

static inline long socket_send(int socket, const void *data, size_t bytes)
{
    return send(socket, data, bytes, 0);
}

static inline long socket_receive(int socket, void *data, size_t bytes)
{
    return recv(socket, data, bytes, 0);
}

#endif
