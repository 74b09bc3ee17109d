/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See receive_window.h. lwIP's own idea of the window stays as it is: it accepts what it would have
 * announced, and sends an acknowledgement when a program has read four segments. So no connection
 * may have less than six: one whose peer waits with less than a segment announced has room for less
 * than two, since a whole one is announced; then there are four to read, and the peer hears of it
 * when they are.
 */
#include "receive_window.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include <stdbool.h>

#define LEAST_SEGMENTS 6u
/* Nobody sends more before the first acknowledgement (RFC 6928, 2), and by then it is known with
 * how many others the memory is shared. */
#define FIRST_SEGMENTS 10u

/* A connection is idle when no data has come for so many ticks of tcp_ticks, of 500 ms each; the
 * first of them is begun already. */
#define IDLE_TICKS 2u

static u32_t shared_bytes = TCP_WND;
/* Of each connection (lwIP's ext_args): */
static u8_t promised_id; /* the sequence number up to which the peer may send */
static u8_t received_id; /* tcp_ticks when data came last */

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
static bool takes_part(const struct tcp_pcb *connection)
{
    return has_unread_data(connection) || (can_receive(connection) && !is_idle(connection));
}

/* Returns how many bytes of unread data `connection` may hold. */
static u32_t part_of(const struct tcp_pcb *connection)
{
    u32_t sharing = 1;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        if (pcb != connection && takes_part(pcb)) {
            sharing++;
        }
    }
    return LWIP_MAX(shared_bytes / sharing, LEAST_SEGMENTS * TCP_MSS);
}

/* Returns the same for a connection that is being opened. It shares with all others, since nobody
 * knows yet which of those that open now will send. */
static u32_t first_part(void)
{
    u32_t connections = 0;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        connections++;
    }
    return LWIP_MAX(shared_bytes / LWIP_MAX(connections, 1u), LEAST_SEGMENTS * TCP_MSS);
}

/* How far the peer may send from here: the end of that never moves back, and forward by a segment
 * at least (RFC 9293, 3.8.6.2.2). */
static u32_t window_of(const struct tcp_pcb *connection, u32_t part)
{
    u32_t unread = TCP_WND_MAX(connection) - connection->rcv_wnd;
    u32_t room = LWIP_MIN(part > unread ? part - unread : 0, (u32_t)connection->rcv_ann_wnd);
    u32_t left = promised(connection) - connection->rcv_nxt;

    if ((s32_t)left < 0) { /* lwIP took more than was announced */
        left = 0;
    }
    return room >= left + LWIP_MIN(part / 2, (u32_t)TCP_MSS) ? room : left;
}

void network_window_announce(struct tcp_pcb *connection, struct tcp_hdr *header)
{
    u8_t flags = TCPH_FLAGS(header);
    u32_t window;

    /* A reset may be for a listener, which is not a whole connection. */
    if ((flags & TCP_RST) != 0 || (flags & TCP_ACK) == 0) {
        return;
    }
    if ((flags & TCP_SYN) != 0) {
        window =
            LWIP_MIN(LWIP_MIN(first_part(), FIRST_SEGMENTS * TCP_MSS), connection->rcv_ann_wnd);
        header->wnd = lwip_htons((u16_t)window); /* never scaled (RFC 7323, 2.2) */
    } else {
        window = window_of(connection, part_of(connection));
        header->wnd = lwip_htons((u16_t)LWIP_MIN(RCV_WND_SCALE(connection, window), 0xffffu));
    }
    promise(connection, connection->rcv_nxt + window);
}
