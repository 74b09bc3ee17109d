/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guests' side of ./bulkhead bench cost. All guests run this code.
 *
 * The bench sends orders. An order requests a number of rounds, in each of which the guest sends or
 * receives a number of datagrams of one size. It is a datagram of four 16-bit numbers in network
 * byte order: direction (enum rounds_direction), bytes per datagram, datagrams per round, rounds.
 * Before the first round and after each round the guest executes a mark: an instruction without
 * effect at which counter.c holds the guest.
 */
#ifndef COST_ROUNDS_H
#define COST_ROUNDS_H

#include "endpoint.h" /* each guest has its own: endpoint_t, endpoint_send(), endpoint_receive() */
#include <stdint.h>

#define ROUNDS_BYTES_MAX 1472u

enum rounds_direction { ROUNDS_SEND = 1, ROUNDS_RECEIVE = 2 };

/* Sends a datagram of one byte to tell the bench that the guest is ready, and then executes orders
 * that arrive on the connected UDP endpoint. Returns -1 if a datagram cannot be sent or received,
 * and does not return otherwise. */
int rounds_serve(endpoint_t endpoint);

#endif
