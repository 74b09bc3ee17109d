/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the guests of ./bulkhead bench cost do with their end of the connection, the same code in
 * all.
 *
 * The bench orders so many rounds of so many datagrams of a size, in or out. An order is a datagram
 * of four numbers of 16 bits, in network order: direction (enum rounds_direction), bytes of a
 * datagram, datagrams a round, rounds. Before the first round and after each is a mark: an
 * instruction without effect at which counter.c holds the guest.
 */
#ifndef COST_ROUNDS_H
#define COST_ROUNDS_H

#include "endpoint.h" /* the guest's: endpoint_t, endpoint_send(), endpoint_receive() */
#include <stdint.h>

#define ROUNDS_BYTES_MAX 1472u

enum rounds_direction { ROUNDS_SEND = 1, ROUNDS_RECEIVE = 2 };

/* Follows orders from a connected UDP endpoint, for ever; says first that it is there, by a
 * datagram of one byte. Returns -1 if a datagram cannot be sent or received. */
int rounds_serve(endpoint_t endpoint);

#endif
