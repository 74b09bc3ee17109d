/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that lwIP calls while it processes TCP segments (tcp_guard.c). Core lock held. */
#ifndef NETWORK_LWIP_HOOKS_H
#define NETWORK_LWIP_HOOKS_H

#include "lwip/err.h"
#include "lwip/ip_addr.h"
#include "lwip/tcp.h"

struct pbuf;
struct tcp_hdr;

/* Checks a received segment after lwIP has found its connection or listener, and before lwIP
 * processes it. Returns ERR_OK, or another value to drop the segment. `segment` begins with the
 * data; the header is in host byte order. The function may pass the segment to tcp_input() again.
 */
err_t network_guard_segment(struct tcp_pcb *connection, struct tcp_hdr *header,
                            struct pbuf *segment);
#define LWIP_HOOK_TCP_INPACKET_PCB(pcb, header, options, options1, options2, segment) \
    network_guard_segment((pcb), (header), (segment))

/* Returns the initial sequence number of a connection (RFC 6528). */
u32_t network_initial_sequence(const ip_addr_t *local, u16_t local_port, const ip_addr_t *remote,
                               u16_t remote_port);
#define LWIP_HOOK_TCP_ISN(local, local_port, remote, remote_port) \
    network_initial_sequence((local), (local_port), (remote), (remote_port))

/* Writes the window into the header of a segment to send, which is complete except for window and
 * checksum. Returns `options`. The macro removes a const: lwIP passes const connections for
 * segments without data. */
u32_t *network_prepare_segment(const struct pbuf *segment, struct tcp_hdr *header,
                               struct tcp_pcb *connection, u32_t *options);
#define LWIP_HOOK_TCP_OUT_ADD_TCPOPTS(segment, header, pcb, options) \
    network_prepare_segment((segment), (header), (struct tcp_pcb *)(uintptr_t)(pcb), (options))

#endif
