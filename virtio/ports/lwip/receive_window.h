/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive windows that are announced to TCP peers
 * (docs/decisions/0017-shared-receive-window.md). lwIP would announce a whole window to each of
 * them; here the connections that receive share the memory that there is. One alone has all of it;
 * of several each has its part, and never less than six full segments. Half-open, closing and idle
 * connections take no part. A window once announced is never taken back.
 *
 * Connections that programs here open keep lwIP's first window (RFC 9293, 3.8.6), then share too.
 * Core lock held.
 */
#ifndef NET_RECEIVE_WINDOW_H
#define NET_RECEIVE_WINDOW_H

#include "lwip/tcp.h"

struct tcp_hdr;

/* Once, before the first connection. */
void network_window_init(void);

/* Memory for unread data, of all connections together; no less than one window counts. */
void network_window_share(u32_t bytes);

/* A segment came from the peer that we asked for a connection; its header is in host byte order. */
void network_window_answered(struct tcp_pcb *connection, const struct tcp_hdr *header);

/* Data came on the connection, or it was opened: it receives for the next half second at least. */
void network_window_received(struct tcp_pcb *connection);

/* Writes the window into the header of a segment that is about to be sent. */
void network_window_announce(struct tcp_pcb *connection, struct tcp_hdr *header);

#endif
