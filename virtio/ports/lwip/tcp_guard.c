/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands between a hostile peer and lwIP's TCP (called by it, lwip_hooks.h):
 *
 *  - Segments that would break an invariant lwIP asserts (2.1.3, tcp_receive()) are dropped.
 *  - While memory for received frames is short, a connection whose program has not read what it has
 * may not keep more: others live on.
 *  - Half-open connections are bounded, and the oldest is given up for a new one: a flood of SYNs
 *    closes no port. A client whose connection was given up is remembered (syn_cache.h): its
 *    connection opens when its acknowledgement comes and a control block is free.
 *  - Initial sequence numbers can't be guessed (RFC 6528).
 *  - A peer may use a port again that we still wait for (RFC 9293, 3.6.1).
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
#include "syn_cache.h"
#include "virtio/platform.h"
#include <string.h>

static bool receive_pressure;

void network_set_receive_pressure(bool pressure)
{
    receive_pressure = pressure;
}

/* With the handshake's third segment a round trip away, this many admit 8 connections in any round
 * trip however many SYNs a flood sends in between, up to the flood's own 8. */
#define HALF_OPEN_MAX 16u

/* The oldest half-open connection if there are too many, else NULL. lwIP puts new ones in front,
 * but also moves a connection there that gets a segment: ages are compared. */
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

/* The SYN-ACK has one sequence number, and its sender waits for the acknowledgement of it. */
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
 * lwIP keeps the first segment that arrives out of order whatever its length, gives a FIN found in
 * a kept segment to one that covers it, and asserts later that all of that fits into the window. So
 * nothing is kept that reaches the window's last byte, and nothing kept is left when a segment in
 * order fills the window.
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

/* What the next connection's sequence numbers have to be beyond, while one is reopened. */
static const u32_t *sequence_floor;

/* The sequence number of a SYN-ACK that was sent already, while its connection is made again. */
static const u32_t *sequence_again;

/* Gives a segment back its header, as it came, and TCP has it once more. */
static void input_again(struct tcp_hdr *header, struct pbuf *segment)
{
    u16_t length = TCPH_HDRLEN_BYTES(header);

    if ((u8_t *)header + length != segment->payload || pbuf_add_header_force(segment, length)) {
        return; /* a header in two pieces: the peer will repeat it */
    }
    header->src = lwip_htons(header->src);
    header->dest = lwip_htons(header->dest);
    header->seqno = lwip_htonl(header->seqno);
    header->ackno = lwip_htonl(header->ackno);
    header->wnd = lwip_htons(header->wnd);
    pbuf_ref(segment);
    tcp_input(segment, ip_current_input_netif());
}

/*
 * A SYN for a connection that waits for its old segments to die opens a new one if it is beyond all
 * that the old one has received, and what we send is beyond all that the old one has sent (RFC
 * 9293, 3.6.1 and 3.10.7.4). lwIP (2.1.3) refuses it as long as it waits, two minutes: a client
 * whose system picks the same port again finds the service dead. True: the segment is dealt with.
 */
static bool reopen(struct tcp_pcb *waiting, struct tcp_hdr *header, struct pbuf *segment)
{
    u32_t floor = waiting->snd_nxt;

    if ((TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN ||
        !TCP_SEQ_GT(header->seqno, waiting->rcv_nxt)) {
        return false;
    }
    if (waiting->callback_arg != NULL) {
        return false; /* a program that closed its side alone may still read what has come */
    }
    tcp_abort(waiting); /* frees it, and sends nothing in this state */
    sequence_floor = &floor;
    input_again(header, segment);
    sequence_floor = NULL;
    return true;
}

/* Returns the peer's SYN as it came, with the options that matter; NULL if memory is short.
 * `header` is of a later segment, in host byte order. */
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
        entry->sack ? 2 : 1, /* SACK permitted, or four times nothing */
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

/* Has lwIP make the connection's control block again. Returns false if there is none to be had. */
static bool make_half_open(const struct syn_cache_entry *entry, const struct tcp_hdr *header)
{
    struct pbuf *syn = make_syn(entry, header);

    if (syn == NULL) {
        return false;
    }
    sequence_again = &entry->own_sequence;
    tcp_input(syn, ip_current_input_netif());
    sequence_again = NULL;
    /* The newest connection is the first of the list, and its SYN-ACK must be sent. */
    return tcp_active_pcbs != NULL && tcp_active_pcbs->state == SYN_RCVD &&
           tcp_active_pcbs->remote_port == header->src &&
           tcp_active_pcbs->snd_nxt == entry->own_sequence + 1;
}

/*
 * An acknowledgement for a listener: of a half-open connection that was given up for another one,
 * or of none (lwIP then answers with a reset). Returns true if the segment is dealt with. As long
 * as no control block is free the segment is dropped: the client repeats its data.
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
        return true;
    }
    input_again(header, segment);
    return true;
}

/* Returns ERR_OK if lwIP is to process a segment that came for a listener. */
static err_t guard_listener(struct tcp_hdr *header, struct pbuf *segment)
{
    u8_t flags = TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST);

    if (flags == TCP_SYN) {
        struct tcp_pcb *surplus = half_open_surplus();

        if (surplus != NULL) {
            remember(surplus);
            tcp_abandon(surplus, 0); /* no RST: the address may be a forged one */
        }
    }
    return flags == TCP_ACK && complete_handshake(header, segment) ? ERR_VAL : ERR_OK;
}

err_t network_guard_segment(struct tcp_pcb *connection, struct tcp_hdr *header,
                            struct pbuf *segment)
{
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
    if (connection->state == SYN_RCVD &&
        (TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
        return ERR_VAL; /* lwIP opens no connection from both sides at once: only a forger sends
                           this */
    }
    if (breaks_window(connection, header, segment->tot_len)) {
        return ERR_VAL;
    }
    if (segment->tot_len != 0 && receive_pressure &&
        (connection->rcv_wnd < TCP_WND_MAX(connection) || connection->refused_data != NULL ||
         header->seqno != connection->rcv_nxt)) {
        return ERR_MEM;
    }
    if (segment->tot_len != 0 || connection->state == SYN_RCVD) {
        network_window_received(connection);
    }
    /* At least every second full segment is acknowledged at once (RFC 5681, 4.2), and this may be
     * several in one (coalesce.h): as if one had come before it. */
    if (segment->tot_len > TCP_MSS) {
        tcp_set_flags(connection, TF_ACK_DELAY);
    }
    return ERR_OK;
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
    /* What sends faster than the clock runs is ahead of it: beyond the largest window. */
    if (sequence_floor != NULL && !TCP_SEQ_GT(sequence, *sequence_floor + TCP_WND)) {
        sequence = *sequence_floor + TCP_WND + 1;
    }
    return sequence;
}

/*
 * Over IPv6 a segment may be larger than a path whose MTU shrank after the segment was made; it
 * then goes out in fragments, whose checksum no device can finish: it is made in software. The port
 * turns that off again with the next frame it gives to the device (transmit.c).
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
