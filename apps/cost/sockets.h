/* SPDX-License-Identifier: BSD-2-Clause */
/* The system's calls on sockets under names that both guests have (bench/cost/rounds.c): lwIP. */
#ifndef COST_SOCKETS_H
#define COST_SOCKETS_H

#include "lwip/sockets.h"

static inline long socket_send(int socket, const void *data, size_t bytes)
{
    return lwip_send(socket, data, bytes, 0);
}

static inline long socket_receive(int socket, void *data, size_t bytes)
{
    return lwip_recv(socket, data, bytes, 0);
}

#endif
