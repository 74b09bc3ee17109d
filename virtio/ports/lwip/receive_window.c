/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See receive_window.h. lwIP's own window does not change: lwIP accepts all data that it would have
 * announced, and sends an acknowledgement when a program has read four segments.
 *
 * That is why a share has at least six segments. A peer may wait because less than one segment is
 * announced to it. The free room of the share is then less than two segments, because window_of()
 * announces at least one whole segment as soon as there is room for it. So more than four segments
 * are unread. When the program has read four of them, lwIP sends the acknowledgement, which
 * announces the new window, and the peer continues.
 */
#include "receive_window.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include <stdbool.h>

#define SHARE_SEGMENTS_MIN 6u
/* The first window of a connection. A peer sends no more segments before the first acknowledgement
 * (RFC 6928, 2), and that acknowledgement announces the connection's share at that time. */
#define FIRST_SEGMENTS 10u

/* A connection is idle if no data has arrived for this many increments of tcp_ticks. One increment
 * is 500 ms, and the first one may come at once, so this is 500 to 1000 ms. */
#define IDLE_TICKS 2u

static u32_t shared_bytes = TCP_WND;
/* Indices of values that lwIP keeps for each connection (ext_args). */
static u8_t promised_id; /* the sequence number up to which the peer may send */
static u8_t received_id; /* value of tcp_ticks when data last arrived */

void network_window_init(void)
{
    promised_id = tcp_ext_arg_alloc_id();
    received_id = tcp_ext_arg_alloc_id();
}

void network_window_share(u32_t bytes)
{
    shared_bytes = LWIP_MAX(bytes, (u32_t)TCP_WND);
}

static u32_t promised(const struct tcp_pcb *connection)
{
    return (u32_t)(uintptr_t)tcp_ext_arg_get(connection, promised_id);
}

static void promise(struct tcp_pcb *connection, u32_t edge)
{
    tcp_ext_arg_set(connection, promised_id, (void *)(uintptr_t)edge);
}

void network_window_answered(struct tcp_pcb *connection, const struct tcp_hdr *header)
{
    promise(connection, header->seqno + 1 + TCPWND_MIN16(TCP_WND));
    network_window_received(connection);
}

void network_window_restored(struct tcp_pcb *connection, u32_t edge)
{
    promise(connection, edge);
    network_window_received(connection);
}

void network_window_received(struct tcp_pcb *connection)
{
    tcp_ext_arg_set(connection, received_id, (void *)(uintptr_t)tcp_ticks);
}

static bool has_unread_data(const struct tcp_pcb *connection)
{
    return connection->rcv_wnd < TCP_WND_MAX(connection);
}

/* Returns true if the peer may still send data and a program here may still read it. */
static bool can_receive(const struct tcp_pcb *connection)
{
    bool open = connection->state == ESTABLISHED || connection->state == FIN_WAIT_1 ||
                connection->state == FIN_WAIT_2;

    return open && (connection->flags & TF_RXCLOSED) == 0;
}

static bool is_idle(const struct tcp_pcb *connection)
{
    u32_t received = (u32_t)(uintptr_t)connection->ext_args[received_id].data;

    return tcp_ticks - received >= IDLE_TICKS;
}

/* Returns true if the connection uses memory for received data, or is about to. */
static bool has_share(const struct tcp_pcb *connection)
{
    return has_unread_data(connection) || (can_receive(connection) && !is_idle(connection));
}

/* Returns the maximum number of bytes of unread data for the connection. */
static u32_t share_of(const struct tcp_pcb *connection)
{
    u32_t sharing = 1;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        if (pcb != connection && has_share(pcb)) {
            sharing++;
        }
    }
    return LWIP_MAX(shared_bytes / sharing, SHARE_SEGMENTS_MIN * TCP_MSS);
}

/* Returns the share of a connection that is being opened. All connections count, because it is not
 * known yet which of the connections that are opened at the same time will receive data. */
static u32_t first_share(void)
{
    u32_t connections = 0;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        connections++;
    }
    return LWIP_MAX(shared_bytes / LWIP_MAX(connections, 1u), SHARE_SEGMENTS_MIN * TCP_MSS);
}

/* Returns the window to announce. Its right edge never moves back. It moves forward by at least one
 * segment, or half the share if that is less (RFC 9293, 3.8.6.2.2). */
static u32_t window_of(const struct tcp_pcb *connection, u32_t share)
{
    u32_t unread = TCP_WND_MAX(connection) - connection->rcv_wnd;
    u32_t room = LWIP_MIN(share > unread ? share - unread : 0, (u32_t)connection->rcv_ann_wnd);
    u32_t left = promised(connection) - connection->rcv_nxt;

    if ((s32_t)left < 0) { /* lwIP accepted more data than was announced */
        left = 0;
    }
    return room >= left + LWIP_MIN(share / 2, (u32_t)TCP_MSS) ? room : left;
}

void network_window_announce(struct tcp_pcb *connection, struct tcp_hdr *header)
{
    u8_t flags = TCPH_FLAGS(header);
    u32_t window;

    /* A reset may belong to a listener, whose structure lacks most members of a connection. */
    if ((flags & TCP_RST) != 0 || (flags & TCP_ACK) == 0) {
        return;
    }
    if ((flags & TCP_SYN) != 0) {
        window =
            LWIP_MIN(LWIP_MIN(first_share(), FIRST_SEGMENTS * TCP_MSS), connection->rcv_ann_wnd);
        header->wnd = lwip_htons((u16_t)window); /* not scaled in a SYN (RFC 7323, 2.2) */
    } else {
        window = window_of(connection, share_of(connection));
        header->wnd = lwip_htons((u16_t)LWIP_MIN(RCV_WND_SCALE(connection, window), 0xffffu));
    }
    promise(connection, connection->rcv_nxt + window);
}
