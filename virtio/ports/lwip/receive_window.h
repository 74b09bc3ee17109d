/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive windows that are announced to TCP peers
 * (docs/decisions/0017-shared-receive-window.md). lwIP would announce a whole window to each peer.
 * Instead, the connections that receive data share the memory for it. A single connection has all
 * of the memory. Several connections have equal shares, of at least six full segments each.
 * Half-open, closing and idle connections have no share. An announced window is never taken back.
 *
 * Connections that programs on this machine open start with lwIP's window (RFC 9293, 3.8.6), and
 * have a share afterwards. Core lock held.
 */
#ifndef NET_RECEIVE_WINDOW_H
#define NET_RECEIVE_WINDOW_H

#include "lwip/tcp.h"

struct tcp_hdr;

/* Initialises this module. Call it once, before the first connection. */
void network_window_init(void);

/* Sets the memory for unread data of all connections together. The minimum is one window. */
void network_window_share(u32_t bytes);

/* Records the peer's answer to a connection request of this machine. `header` is in host byte
 * order.
 */
void network_window_answered(struct tcp_pcb *connection, const struct tcp_hdr *header);

/* Records the end of the window of a connection that a life before this one has opened: the peer
 * may have been told that it can send up to the sequence number `edge`. */
void network_window_restored(struct tcp_pcb *connection, u32_t edge);

/* Records that data arrived on the connection, or that it was opened. The connection then has a
 * share for at least half a second. */
void network_window_received(struct tcp_pcb *connection);

/* Writes the window into the header of a segment that is about to be sent. */
void network_window_announce(struct tcp_pcb *connection, struct tcp_hdr *header);

#endif
