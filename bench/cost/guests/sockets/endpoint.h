/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps the call names common to all guests (bench/cost/rounds.c) to lwIP's sockets. */
#ifndef COST_ENDPOINT_H
#define COST_ENDPOINT_H

#include "lwip/sockets.h"

typedef int endpoint_t;

static inline long endpoint_send(endpoint_t socket, const void *data, size_t bytes)
{
    return lwip_send(socket, data, bytes, 0);
}

static inline long endpoint_receive(endpoint_t socket, void *data, size_t bytes)
{
    return lwip_recv(socket, data, bytes, 0);
}

#endif
