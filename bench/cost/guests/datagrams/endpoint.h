/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps the call names common to all guests (bench/cost/rounds.c) to kernel/datagram.h. */
#ifndef COST_ENDPOINT_H
#define COST_ENDPOINT_H

#include "kernel/datagram.h"
#include "kernel/time.h"

typedef struct datagram *endpoint_t;

static inline long endpoint_send(endpoint_t endpoint, const void *data, size_t bytes)
{
    return datagram_send(endpoint, data, bytes, DEADLINE_NONE) == RESULT_OK ? (long)bytes : -1;
}

static inline long endpoint_receive(endpoint_t endpoint, void *data, size_t bytes)
{
    size_t received;

    return datagram_receive(endpoint, data, bytes, &received, DEADLINE_NONE) == RESULT_OK
               ? (long)received
               : -1;
}

#endif
