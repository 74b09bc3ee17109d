/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What TCP peers may send before a program has read it. lwIP would promise each of them a whole
 * window; here all connections share what there is memory for. One alone has it all; with many,
 * each has its part, and never less than six full segments. A promise once given is kept.
 *
 * Connections that programs here open keep lwIP's first window (RFC 9293, 3.8.6), then share too.
 * With the core lock held.
 */
#ifndef NET_RECEIVE_WINDOW_H
#define NET_RECEIVE_WINDOW_H

#include "lwip/tcp.h"

struct tcp_hdr;

/* Once, before the first connection. */
void network_window_init(void);

/* Memory for unread data, of all connections together; no less than one window counts. */
void network_window_share(u32_t bytes);

/* A segment from whom we asked for a connection; its header is in host byte order. */
void network_window_answered(struct tcp_pcb *connection, const struct tcp_hdr *header);

/* Writes the window into the header of a segment that is about to be sent. */
void network_window_announce(struct tcp_pcb *connection, struct tcp_hdr *header);

#endif
