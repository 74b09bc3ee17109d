/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connected UDP endpoints for threads with little time: a datagram is sent in a few hundred
 * instructions, from memory set aside when the endpoint was opened.
 *
 * lwIP keeps every say in it: it owns the port, the routes, neighbours and addresses. The first
 * datagram of each second goes its way, in each direction, and the endpoint learns from that frame
 * how the others look (net/datagram_flow.h); they go straight to the driver and straight from it
 * (docs/decisions/0011-datagrams.md). What is unusual (fragments, IP options) always goes through
 * lwIP. Datagrams keep their order within a direction as far as the network does.
 *
 * Sending and receiving are for one thread each at a time. Thread context throughout.
 */
#ifndef KERNEL_DATAGRAM_H
#define KERNEL_DATAGRAM_H

#include "kernel/result.h"
#include "lwip/ip_addr.h"
#include <stddef.h>
#include <stdint.h>

struct datagram; /* opaque */

struct datagram_parameters {
    ip_addr_t peer; /* IPv4 or IPv6; only with it datagrams are exchanged */
    uint16_t peer_port;
    uint16_t local_port;      /* 0: one that is free */
    uint16_t send_buffers;    /* datagrams at the device at once; 0: 16 */
    uint16_t receive_buffers; /* datagrams waiting to be received; 0: 16 */
};

struct datagram_statistics {
    uint64_t sent; /* accepted by the driver or by lwIP */
    uint64_t sent_by_stack;
    uint64_t received; /* taken by datagram_receive() */
    uint64_t received_by_stack;
    uint64_t dropped; /* arrived while receive_buffers were waiting */
    uint64_t damaged; /* wrong checksum */
};

/* The network must have been started. RESULT_NO_MEMORY (also: of receive blocks),
 * RESULT_BUSY (the port is taken), RESULT_INVALID (no peer), RESULT_NOT_FOUND (no network). */
enum result datagram_open(struct datagram **datagram, const struct datagram_parameters *parameters);
/* Closes the endpoint; its port is free at once. Waits until the device has sent all datagrams, 100
 * ms at most. The memory of those that it has not sent by then (the device was pulled, or does not
 * confirm a reset) is freed when the driver gets them back. No thread may be in a call on the
 * endpoint. Thread context. */
void datagram_close(struct datagram *datagram);

/*
 * Copies and sends. RESULT_OVERFLOW: more than an unfragmented datagram holds, which is
 * datagram_bytes_max(). RESULT_TIMED_OUT: by `deadline` no send buffer was free. RESULT_NOT_FOUND:
 * no route, or the link is down. RESULT_NO_MEMORY: lwIP had none.
 */
enum result datagram_send(struct datagram *datagram, const void *data, size_t bytes,
                          uint64_t deadline);
size_t datagram_bytes_max(const struct datagram *datagram);

/* The next datagram, cut to `capacity`; *bytes is how many were copied. RESULT_TIMED_OUT. */
enum result datagram_receive(struct datagram *datagram, void *data, size_t capacity, size_t *bytes,
                             uint64_t deadline);

void datagram_statistics(const struct datagram *datagram, struct datagram_statistics *statistics);

#endif
