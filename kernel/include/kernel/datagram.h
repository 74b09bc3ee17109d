/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connected UDP endpoints for threads with little time: a datagram is sent in a few hundred
 * instructions, from memory that was allocated when the endpoint was opened.
 *
 * lwIP still owns the port, the routes, the neighbours and the addresses. In each direction, the
 * first datagram of each second goes through lwIP, and the endpoint learns the headers from that
 * frame (net/datagram_flow.h). All others go directly to the driver and come directly from it
 * (docs/decisions/0011-datagrams.md). Frames with fragments or IP options always go through lwIP.
 * Datagrams of one direction keep their order as far as the network keeps it.
 *
 * One thread may send and one may receive at a time. Thread context for all functions.
 */
#ifndef KERNEL_DATAGRAM_H
#define KERNEL_DATAGRAM_H

#include "kernel/result.h"
#include "lwip/ip_addr.h"
#include <stddef.h>
#include <stdint.h>

struct datagram; /* opaque */

struct datagram_parameters {
    ip_addr_t peer; /* IPv4 or IPv6; datagrams are exchanged with this peer only */
    uint16_t peer_port;
    uint16_t local_port;      /* 0: lwIP chooses a free port */
    uint16_t send_buffers;    /* maximum of datagrams with the device, each of the interface's MTU;
                               * 0: 16 */
    uint16_t receive_buffers; /* maximum of datagrams waiting to be received; 0: 16 */
};

struct datagram_statistics {
    uint64_t sent; /* accepted by the driver or by lwIP */
    uint64_t sent_by_stack;
    uint64_t received; /* taken by datagram_receive() */
    uint64_t received_by_stack;
    uint64_t dropped; /* arrived while receive_buffers datagrams were waiting */
    uint64_t damaged; /* wrong checksum */
};

/* Opens an endpoint, after network_start(). Returns RESULT_OK, RESULT_NO_MEMORY (memory or receive
 * blocks), RESULT_BUSY (the port is in use), RESULT_INVALID (no peer) or RESULT_NOT_FOUND (no
 * network).
 */
enum result datagram_open(struct datagram **datagram, const struct datagram_parameters *parameters);
/* Closes the endpoint; its port is free at once. Waits, at most 100 ms, until the device has sent
 * all datagrams. If the device was removed or does not confirm a reset, some may still be with the
 * driver; their memory is freed when the driver returns them. No thread may be in a call on the
 * endpoint.
 */
void datagram_close(struct datagram *datagram);

/*
 * Copies the data and sends it. Returns RESULT_OK; RESULT_OVERFLOW if `bytes` exceeds
 * datagram_bytes_max(), the size of an unfragmented datagram; RESULT_TIMED_OUT if no send buffer
 * was free by `deadline`; RESULT_NOT_FOUND if there is no route or the link is down;
 * RESULT_NO_MEMORY if lwIP had no memory.
 */
enum result datagram_send(struct datagram *datagram, const void *data, size_t bytes,
                          uint64_t deadline);
size_t datagram_bytes_max(const struct datagram *datagram);

/* Copies the next datagram, cut to `capacity` bytes; *bytes gets the number of bytes copied.
 * Returns RESULT_OK, or RESULT_TIMED_OUT if none arrived by `deadline`. */
enum result datagram_receive(struct datagram *datagram, void *data, size_t capacity, size_t *bytes,
                             uint64_t deadline);

void datagram_statistics(const struct datagram *datagram, struct datagram_statistics *statistics);

#endif
