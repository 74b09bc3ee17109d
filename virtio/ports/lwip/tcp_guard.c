/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protects lwIP's TCP from malicious peers. lwIP calls these functions (lwip_hooks.h).
 *
 * - Segments that would violate an assertion of lwIP (2.1.3, tcp_receive()) are dropped, and so are
 *   options that would violate one later (tcp_write()). A window that would is given no effect.
 * - While memory for received frames is short, a connection with unread data receives no more, so
 *   that other connections can continue.
 * - The number of half-open connections is bounded, and the oldest is dropped for a new one, so
 *   that a flood of SYNs does not close a port. The state of a dropped connection is kept
 *   (syn_cache.h): it opens when the client's acknowledgement arrives and a control block is free.
 * - A window that is closed on both sides makes no endless exchange of acknowledgements.
 * - Initial sequence numbers can't be guessed (RFC 6528).
 * - A peer may reuse a port whose connection is in TIME-WAIT here (RFC 9293, 3.6.1).
 */
#include "lwip/inet_chksum.h"
#include "lwip/nd6.h"
#include "lwip/netif.h"
#include "lwip/opt.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include "lwip_hooks.h"
#include "random.h"
#include "receive_pressure.h"
#include "receive_window.h"
#include "received_counts.h"
#include "syn_cache.h"
#include "virtio/platform.h"
#include <string.h>

static bool receive_pressure;

void network_set_receive_pressure(bool pressure)
{
    receive_pressure = pressure;
}

/* The third segment of a handshake arrives one round trip after the SYN. With this limit, 8
 * connections can open in each round trip if a flood sends up to 8 SYNs in the same time. */
#define HALF_OPEN_MAX 16u

/* Returns the oldest half-open connection if there are HALF_OPEN_MAX, otherwise NULL. The order of
 * lwIP's list does not show the age, because lwIP moves a connection to the front when it receives
 * a segment. So the times are compared. */
static struct tcp_pcb *half_open_surplus(void)
{
    struct tcp_pcb *oldest = NULL;
    unsigned count = 0;

    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        if (pcb->state == SYN_RCVD) {
            count++;
            if (oldest == NULL || tcp_ticks - pcb->tmr >= tcp_ticks - oldest->tmr) {
                oldest = pcb;
            }
        }
    }
    return count >= HALF_OPEN_MAX ? oldest : NULL;
}

static uint64_t connection_hash(const ip_addr_t *local, u16_t local_port, const ip_addr_t *remote,
                                u16_t remote_port)
{
    struct {
        uint8_t addresses[2][16];
        uint16_t ports[2];
        uint32_t padding;
    } connection;

    memset(&connection, 0, sizeof(connection));
    if (IP_IS_V6(local)) {
        memcpy(connection.addresses[0], ip_2_ip6(local)->addr, 16);
        memcpy(connection.addresses[1], ip_2_ip6(remote)->addr, 16);
    } else {
        memcpy(connection.addresses[0], &ip_2_ip4(local)->addr, 4);
        memcpy(connection.addresses[1], &ip_2_ip4(remote)->addr, 4);
    }
    connection.ports[0] = local_port;
    connection.ports[1] = remote_port;
    return network_keyed_hash(&connection, sizeof(connection));
}

/* Stores the state of a half-open connection in the SYN cache. Its SYN-ACK is not acknowledged, so
 * lastack is the sequence number of the SYN-ACK. */
static void remember(const struct tcp_pcb *half_open)
{
    struct syn_cache_entry entry = {
        .connection = connection_hash(&half_open->local_ip, half_open->local_port,
                                      &half_open->remote_ip, half_open->remote_port),
        .own_sequence = half_open->lastack,
        .peer_sequence = half_open->rcv_nxt - 1,
        .segment_bytes = half_open->mss,
#if LWIP_WND_SCALE
        .scale = half_open->snd_scale,
        .scaled = (half_open->flags & TF_WND_SCALE) != 0,
#endif
        .sack = (half_open->flags & TF_SACK) != 0,
    };

    syn_cache_add(&entry);
}

/*
 * Returns true if lwIP must not process the segment, because an assertion could fail. lwIP queues
 * the first out-of-order segment whatever its length, moves the FIN of a queued segment to a
 * segment that covers it, and asserts later that everything queued fits into the window. So an
 * out-of-order segment that reaches the last byte of the window is dropped. If a segment in order
 * fills the window, this function empties the queue.
 */
static bool breaks_window(struct tcp_pcb *connection, const struct tcp_hdr *header, u32_t length)
{
    u32_t edge = connection->rcv_nxt + connection->rcv_wnd;
    u32_t end = header->seqno + length + ((TCPH_FLAGS(header) & TCP_FIN) != 0 ? 1u : 0u);

    if (TCP_SEQ_GT(header->seqno, connection->rcv_nxt)) {
        return length != 0 && TCP_SEQ_GEQ(end, edge);
    }
    if (connection->ooseq != NULL && TCP_SEQ_GEQ(end, edge)) {
        tcp_free_ooseq(connection);
    }
    return false;
}

/* While a connection is reopened: the next initial sequence number must be greater than this. */
static const u32_t *sequence_floor;

/* While a connection is restored from the SYN cache: the sequence number of its SYN-ACK. */
static const u32_t *sequence_again;

/* Counts a segment that lwIP drops because a function of this file says so. */
static void count_refused(void)
{
    received_counts.segments_refused++;
}

/* Passes a segment to TCP that has not been received just now. */
static void input_repeated(struct pbuf *segment)
{
    received_counts.segments_repeated++;
    tcp_input(segment, ip_current_input_netif());
}

/* Restores the header of a segment to its received form, and passes the segment to TCP again. */
static void input_again(struct tcp_hdr *header, struct pbuf *segment)
{
    u16_t length = TCPH_HDRLEN_BYTES(header);

    if ((u8_t *)header + length != segment->payload || pbuf_add_header_force(segment, length)) {
        count_refused();
        return; /* the header is in two pieces; the peer will send the segment again */
    }
    header->src = lwip_htons(header->src);
    header->dest = lwip_htons(header->dest);
    header->seqno = lwip_htonl(header->seqno);
    header->ackno = lwip_htonl(header->ackno);
    header->wnd = lwip_htons(header->wnd);
    pbuf_ref(segment);
    input_repeated(segment);
}

/*
 * Handles a segment for a connection in TIME-WAIT. A SYN opens a new connection if its sequence
 * number is greater than all that the old connection has received. Our initial sequence number must
 * then be greater than all that the old connection has sent (RFC 9293, 3.6.1 and 3.10.7.4). lwIP
 * (2.1.3) refuses such a SYN for the two minutes of TIME-WAIT, so a client whose system chose the
 * same port again could not connect. Returns true if the segment was handled.
 */
static bool reopen(struct tcp_pcb *waiting, struct tcp_hdr *header, struct pbuf *segment)
{
    u32_t floor = waiting->snd_nxt;

    if ((TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN ||
        !TCP_SEQ_GT(header->seqno, waiting->rcv_nxt)) {
        return false;
    }
    if (waiting->callback_arg != NULL) {
        return false; /* a program that closed only its own side may still read received data */
    }
    tcp_abort(waiting); /* frees the connection; sends nothing in TIME-WAIT */
    sequence_floor = &floor;
    input_again(header, segment);
    sequence_floor = NULL;
    return true;
}

/* Returns the peer's SYN, with the options that have an effect; NULL if memory is exhausted.
 * `header` is that of a later segment, in host byte order. */
static struct pbuf *make_syn(const struct syn_cache_entry *entry, const struct tcp_hdr *header)
{
    const uint8_t options[] = {
        2,
        4,
        (uint8_t)(entry->segment_bytes >> 8),
        (uint8_t)entry->segment_bytes, /* MSS */
        1,
        1,
        entry->sack ? 4 : 1,
        entry->sack ? 2 : 1, /* SACK permitted, or no-operation options */
        1,
        entry->scaled ? 3 : 1,
        entry->scaled ? 3 : 1,
        entry->scaled ? entry->scale : 1,
    };
    struct pbuf *segment = pbuf_alloc(PBUF_RAW, TCP_HLEN + sizeof(options), PBUF_RAM);
    struct tcp_hdr *syn;

    if (segment == NULL) {
        return NULL;
    }
    syn = segment->payload;
    memset(syn, 0, sizeof(*syn));
    syn->src = lwip_htons(header->src);
    syn->dest = lwip_htons(header->dest);
    syn->seqno = lwip_htonl(entry->peer_sequence);
    TCPH_HDRLEN_FLAGS_SET(syn, (TCP_HLEN + sizeof(options)) / 4, TCP_SYN);
    syn->wnd = lwip_htons(header->wnd);
    memcpy(syn + 1, options, sizeof(options));
    syn->chksum = ip_chksum_pseudo(segment, IP_PROTO_TCP, segment->tot_len, ip_current_src_addr(),
                                   ip_current_dest_addr());
    return segment;
}

/* Makes lwIP create the connection's control block again. Returns false if none is free. */
static bool make_half_open(const struct syn_cache_entry *entry, const struct tcp_hdr *header)
{
    struct pbuf *syn = make_syn(entry, header);

    if (syn == NULL) {
        return false;
    }
    sequence_again = &entry->own_sequence;
    input_repeated(syn);
    sequence_again = NULL;
    /* lwIP puts a new connection at the front of the list. It must have sent its SYN-ACK. */
    return tcp_active_pcbs != NULL && tcp_active_pcbs->state == SYN_RCVD &&
           tcp_active_pcbs->remote_port == header->src &&
           tcp_active_pcbs->snd_nxt == entry->own_sequence + 1;
}

/*
 * Handles an acknowledgement that arrived for a listener. If it belongs to a half-open connection
 * in the SYN cache, the connection is opened. If no control block is free, the segment is dropped;
 * the client will send its data again. Returns true if the segment was handled, false if it belongs
 * to no connection. lwIP then answers with a reset.
 */
static bool complete_handshake(struct tcp_hdr *header, struct pbuf *segment)
{
    uint64_t connection =
        connection_hash(ip_current_dest_addr(), header->dest, ip_current_src_addr(), header->src);
    struct syn_cache_entry entry;

    if (!syn_cache_take(connection, header->ackno - 1, &entry)) {
        return false;
    }
    if (header->seqno != entry.peer_sequence + 1 || !make_half_open(&entry, header)) {
        syn_cache_add(&entry);
        count_refused();
        return true;
    }
    input_again(header, segment);
    return true;
}

/* Checks a segment for a listener. Returns ERR_OK if lwIP shall process it. */
static err_t guard_listener(struct tcp_hdr *header, struct pbuf *segment)
{
    u8_t flags = TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST);

    if (flags == TCP_SYN) {
        struct tcp_pcb *surplus = half_open_surplus();

        if (surplus != NULL) {
            remember(surplus);
            tcp_abandon(surplus, 0); /* sends no RST, because the address may be forged */
        }
    }
    return flags == TCP_ACK && complete_handshake(header, segment) ? ERR_VAL : ERR_OK;
}

/*
 * Overwrites the options of a segment that is no SYN. None of them has an effect here, except that
 * lwIP takes the maximum size of segments from any segment, although only a SYN has this option
 * (RFC 9293, 3.7.1). If it became smaller than a segment that is queued, an assertion of
 * tcp_write() would fail. Returns false if the options are in two pieces.
 */
static bool clear_options(struct tcp_hdr *header, const struct pbuf *segment)
{
    u16_t length = TCPH_HDRLEN_BYTES(header);

    if ((u8_t *)header + length != segment->payload) {
        return false;
    }
    memset(header + 1, LWIP_TCP_OPT_EOL, length - TCP_HLEN);
    return true;
}

/*
 * Returns true if the segment only repeats an acknowledgement and a window, and this side's window
 * is closed. Such a segment is acceptable (RFC 9293, 3.10.7.4), but lwIP answers it as if it were
 * not. If the peer's window is closed, too, and the peer does the same, the two would answer each
 * other for ever. So it is dropped, as a sign of life.
 */
static bool is_repeated_at_closed_window(struct tcp_pcb *connection, const struct tcp_hdr *header)
{
    if (connection->rcv_wnd != 0 || connection->unacked != NULL ||
        (TCPH_FLAGS(header) & (TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK)) != TCP_ACK ||
        header->seqno != connection->rcv_nxt || header->ackno != connection->lastack ||
        (u32_t)SND_WND_SCALE(connection, header->wnd) != connection->snd_wnd) {
        return false;
    }
    connection->tmr = tcp_ticks;
    connection->keep_cnt_sent = 0;
    connection->persist_probe = 0;
    return true;
}

/*
 * lwIP makes no segment larger than half of the largest window that the peer has announced, unless
 * that half is 0. An assertion of tcp_write() fails if this limit becomes smaller than a segment
 * that waits. So a peer that has announced no window yet has no limit afterwards either.
 */
static void keep_segment_limit(struct tcp_pcb *connection)
{
    if (connection->snd_wnd_max < 2) {
        connection->snd_wnd_max = (tcpwnd_size_t)(2 * connection->mss);
    }
}

/* Checks a segment for a connection that is open, half-open or being closed. Returns ERR_OK if lwIP
 * shall process it. */
static err_t guard_connection(struct tcp_pcb *connection, struct tcp_hdr *header,
                              const struct pbuf *segment)
{
    if (TCPH_HDRLEN_BYTES(header) != TCP_HLEN && (TCPH_FLAGS(header) & TCP_SYN) == 0 &&
        !clear_options(header, segment)) {
        return ERR_VAL;
    }
    if (connection->state == SYN_RCVD &&
        (TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
        /* lwIP supports no simultaneous open, so only an attacker sends this segment. */
        return ERR_VAL;
    }
    if (breaks_window(connection, header, segment->tot_len)) {
        return ERR_VAL;
    }
    keep_segment_limit(connection);
    if (segment->tot_len != 0 && receive_pressure &&
        (connection->rcv_wnd < TCP_WND_MAX(connection) || connection->refused_data != NULL ||
         header->seqno != connection->rcv_nxt)) {
        return ERR_MEM;
    }
    if (segment->tot_len != 0 || connection->state == SYN_RCVD) {
        network_window_received(connection);
    } else if (is_repeated_at_closed_window(connection, header)) {
        return ERR_VAL;
    }
    /* Every second full segment must be acknowledged at once (RFC 5681, 4.2). This segment may be
     * several joined ones (coalesce.h), so it is processed as if another had preceded it. */
    if (segment->tot_len > TCP_MSS) {
        tcp_set_flags(connection, TF_ACK_DELAY);
    }
    return ERR_OK;
}

err_t network_guard_segment(struct tcp_pcb *connection, struct tcp_hdr *header,
                            struct pbuf *segment)
{
    err_t error;

    if (connection->state == LISTEN) {
        return guard_listener(header, segment);
    }
    if (connection->state == TIME_WAIT) {
        return reopen(connection, header, segment) ? ERR_VAL : ERR_OK;
    }
    if (connection->state == SYN_SENT) {
        network_window_answered(connection, header);
        return ERR_OK;
    }
    error = guard_connection(connection, header, segment);
    if (error != ERR_OK) {
        count_refused();
    }
    return error;
}

u32_t network_initial_sequence(const ip_addr_t *local, u16_t local_port, const ip_addr_t *remote,
                               u16_t remote_port)
{
    /* RFC 6528, 3: a clock of 4 microseconds plus a keyed hash of the connection. */
    u32_t sequence = (u32_t)(virtio_platform_now() / 4000) +
                     (u32_t)connection_hash(local, local_port, remote, remote_port);

    if (sequence_again != NULL) {
        return *sequence_again;
    }
    /* A connection that sent faster than the clock runs is ahead of the clock. The new number is
     * then beyond the largest window. */
    if (sequence_floor != NULL && !TCP_SEQ_GT(sequence, *sequence_floor + TCP_WND)) {
        sequence = *sequence_floor + TCP_WND + 1;
    }
    return sequence;
}

/*
 * Enables TCP checksums in software if the segment will be fragmented, because no device can
 * complete the checksum of fragments. Over IPv6 that happens if the MTU of the path shrank after
 * the segment was made. The port disables them again with the next frame that it passes to the
 * device (transmit.c).
 */
static void prepare_checksum(const struct pbuf *segment, const struct tcp_pcb *connection)
{
    struct netif *netif;

    if (IP_IS_V6(&connection->remote_ip) && segment->tot_len + IP6_HLEN > IP6_MIN_MTU_LENGTH) {
        NETIF_FOREACH(netif)
        {
            if (segment->tot_len + IP6_HLEN >
                nd6_get_destination_mtu(ip_2_ip6(&connection->remote_ip), netif)) {
                netif->chksum_flags |= NETIF_CHECKSUM_GEN_TCP;
            }
        }
    }
}

u32_t *network_prepare_segment(const struct pbuf *segment, struct tcp_hdr *header,
                               struct tcp_pcb *connection, u32_t *options)
{
    if (connection != NULL) {
        network_window_announce(connection, header);
        prepare_checksum(segment, connection);
    }
    return options;
}
