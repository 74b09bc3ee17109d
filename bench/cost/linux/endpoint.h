/* SPDX-License-Identifier: BSD-2-Clause */
/* Linux's sockets under the names that ../rounds.c uses in all guests. */
#ifndef COST_ENDPOINT_H
#define COST_ENDPOINT_H

#include <stddef.h>
#include <sys/socket.h>

typedef int endpoint_t;

static inline long endpoint_send(endpoint_t socket, const void *data, size_t bytes)
{
    return send(socket, data, bytes, 0);
}

static inline long endpoint_receive(endpoint_t socket, void *data, size_t bytes)
{
    return recv(socket, data, bytes, 0);
}

#endif
