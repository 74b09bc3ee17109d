/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Continues the connections that the life before has kept.
 *
 * lwIP gets a control block for each, in the state that follows from its record, before the
 * interface has an address: no segment of the peer meets a machine that does not know it. Bytes
 * that the peer may not have are queued again from kept memory. Then, as soon as an interface has
 * the connection's address, the peer is told.
 *
 * A peer whose segments were lost meanwhile waits for its retransmission timer, which may have
 * doubled several times. So it gets an acknowledgement and three duplicates: it retransmits at once
 * (RFC 5681, 3.2), unless it has done so already. If no bytes arrive, it also gets messages that
 * this host was not reachable. A peer that conforms to RFC 6069, as Linux does, takes one
 * doubling of its timer back for each of them. To a peer without bytes in flight all of this says
 * nothing new: such a message ends no connection (RFC 1122, 4.2.3.9).
 */
#include "connection/connection_private.h"
#include "kernel/print.h"
#include "lwip/icmp.h"
#include "lwip/inet_chksum.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/ip4.h"
#include "lwip/timeouts.h"
#include "net/stack_call.h"
#include "receive_window.h"
#include <string.h>

/* Acknowledgements that make a peer retransmit: RFC 5681's three duplicates, and the first. */
#define ACKNOWLEDGEMENTS 4u

/* Doublings of its timer that a peer takes back in one announcement. */
#define UNREACHABLE_MESSAGES 6u

/* The part of a segment that such a message quotes (RFC 792). */
struct lost_segment {
    struct ip_hdr ip;
    u16_t source;
    u16_t destination;
    u32_t sequence;
};

/* As soon as the machine has the address, the peer is told, again after ANNOUNCE_MILLISECONDS,
 * after ANNOUNCE_FACTOR times that, and so on, until bytes of it arrive. */
#define ANNOUNCEMENTS         4u
#define ANNOUNCE_MILLISECONDS 2u
#define ANNOUNCE_FACTOR       4u
/* Time after which an address of the life before is not expected any more, and time between two
 * looks at that. */
#define ADDRESS_MILLISECONDS      30000u
#define ADDRESS_LOOK_MILLISECONDS 1000u

static struct tcp_pcb *listener_of_service; /* while its connections are restored */
static unsigned restored_count;
static bool is_announcing;
static u32_t announce_pause; /* ms to the next look or announcement */
static u32_t announce_next;  /* ms between the next two announcements */
static u32_t announce_began; /* lwIP's time of the start, in ms */

/* ---- Descriptions ---- */

static void describe_address(uint8_t bytes[16], const ip_addr_t *address)
{
    memset(bytes, 0, 16);
    if (IP_IS_V6(address)) {
        memcpy(bytes, ip_2_ip6(address)->addr, 16);
    } else {
        memcpy(bytes, &ip_2_ip4(address)->addr, 4);
    }
}

static void read_address(ip_addr_t *address, const uint8_t bytes[16], bool is_v6, uint8_t zone)
{
    memset(address, 0, sizeof(*address));
    if (is_v6) {
        IP_SET_TYPE_VAL(*address, IPADDR_TYPE_V6);
        memcpy(ip_2_ip6(address)->addr, bytes, 16);
        /* One of the two addresses may be global: a global one has no zone. */
        if (ip6_addr_has_scope(ip_2_ip6(address), IP6_UNICAST)) {
            ip6_addr_set_zone(ip_2_ip6(address), zone);
        }
    } else {
        IP_SET_TYPE_VAL(*address, IPADDR_TYPE_V4);
        memcpy(&ip_2_ip4(address)->addr, bytes, 4);
    }
}

void restore_describe(const struct tcp_pcb *pcb, struct store_content *content)
{
    *content = (struct store_content){
        .local_port = pcb->local_port,
        .remote_port = pcb->remote_port,
        .segment_bytes = pcb->mss,
        .flags = IP_IS_V6(&pcb->remote_ip) ? STORE_V6 : 0,
        .send_first = pcb->snd_lbb + 1,
        .receive_first = pcb->rcv_nxt,
        .received = pcb->rcv_nxt,
        .consumed = pcb->rcv_nxt,
        .written = pcb->snd_lbb + 1,
        .acknowledged = pcb->snd_lbb + 1,
    };
    describe_address(content->local_address, &pcb->local_ip);
    describe_address(content->remote_address, &pcb->remote_ip);
    if (IP_IS_V6(&pcb->remote_ip)) {
        content->zone = ip6_addr_has_zone(ip_2_ip6(&pcb->remote_ip))
                            ? ip6_addr_zone(ip_2_ip6(&pcb->remote_ip))
                            : ip6_addr_zone(ip_2_ip6(&pcb->local_ip));
    }
#if LWIP_WND_SCALE
    if ((pcb->flags & TF_WND_SCALE) != 0) {
        content->flags |= STORE_SCALED;
        content->scale = pcb->snd_scale;
    }
#endif
}

/* Returns true if the connection can be one between two stations. */
static bool is_between_stations(const ip_addr_t *local, const ip_addr_t *remote)
{
    return !ip_addr_isany(local) && !ip_addr_ismulticast(local) && !ip_addr_isany(remote) &&
           !ip_addr_ismulticast(remote) &&
           (IP_IS_V6(remote) || ip_2_ip4(remote)->addr != IPADDR_BROADCAST);
}

static bool has_pair(const struct tcp_pcb *list, const struct tcp_pcb *pcb)
{
    for (; list != NULL; list = list->next) {
        if (list->remote_port == pcb->remote_port && list->local_port == pcb->local_port &&
            ip_addr_cmp(&list->remote_ip, &pcb->remote_ip) &&
            ip_addr_cmp(&list->local_ip, &pcb->local_ip)) {
            return true;
        }
    }
    return false;
}

/* ---- Control blocks ---- */

/* Writes addresses, options and the receiving side. Returns false if the record is malicious. */
static bool fill(struct tcp_pcb *pcb, const struct store_content *content, uint16_t port)
{
    bool is_v6 = (content->flags & STORE_V6) != 0;
    u32_t unread = content->received - content->consumed;

    read_address(&pcb->local_ip, content->local_address, is_v6, (uint8_t)content->zone);
    read_address(&pcb->remote_ip, content->remote_address, is_v6, (uint8_t)content->zone);
    pcb->local_port = content->local_port;
    pcb->remote_port = content->remote_port;
    if (content->local_port != port || content->segment_bytes > TCP_MSS ||
        content->zone > UINT8_MAX || !is_between_stations(&pcb->local_ip, &pcb->remote_ip) ||
        has_pair(tcp_active_pcbs, pcb) || has_pair(tcp_tw_pcbs, pcb)) {
        return false;
    }
    pcb->mss = content->segment_bytes;
#if LWIP_WND_SCALE
    if ((content->flags & STORE_SCALED) != 0) {
        tcp_set_flags(pcb, TF_WND_SCALE);
        pcb->snd_scale = content->scale;
        pcb->rcv_scale = TCP_RCV_SCALE;
        pcb->rcv_wnd = TCP_WND;
    }
#endif
    /* lwIP's window may be smaller than the ring (tcp_receive_buffer). */
    pcb->rcv_wnd = (tcpwnd_size_t)(pcb->rcv_wnd - LWIP_MIN(unread, (u32_t)pcb->rcv_wnd));
    pcb->rcv_nxt = content->received + ((content->flags & STORE_ENDED) != 0 ? 1u : 0u);
    pcb->rcv_ann_right_edge = pcb->rcv_nxt;
    /* The peer's window is not known. One segment may be sent, like a probe of the window
     * (RFC 9293, 3.8.6.1), and the answer to it brings the window. */
    pcb->snd_wnd = pcb->mss;
    pcb->snd_wnd_max = TCPWND16(TCP_WND);
    pcb->snd_wl1 = pcb->rcv_nxt - 1;
    pcb->snd_wl2 = content->acknowledged;
    pcb->cwnd = (tcpwnd_size_t)LWIP_MIN(4u * pcb->mss, 0xffffu); /* RFC 5681, 4.1 */
    pcb->listener = (struct tcp_pcb_listen *)listener_of_service;
    network_window_restored(pcb, content->consumed + CONNECTION_RECEIVE_BYTES);
    return true;
}

/* The peer may not have our SYN-ACK. It is sent again; if the peer has it, it answers with an
 * acknowledgement (RFC 9293, 3.10.7.4). */
static void restore_half_open(struct tcp_pcb *pcb, const struct store_content *content)
{
    pcb->state = SYN_RCVD;
    pcb->lastack = content->send_first - 1;
    pcb->snd_lbb = pcb->lastack;
    pcb->snd_wl2 = pcb->lastack;
    (void)tcp_enqueue_flags(pcb, TCP_SYN | TCP_ACK);
    pcb->snd_nxt = content->send_first; /* the peer may acknowledge it before it is sent again */
}

static void restore_open(struct connection *connection, struct tcp_pcb *pcb)
{
    const struct store_content *content = &connection->slot->content;

    pcb->state = (content->flags & STORE_ENDED) != 0 ? CLOSE_WAIT : ESTABLISHED;
    pcb->lastack = content->acknowledged;
    pcb->snd_lbb = content->acknowledged;
    /* lwIP accepts acknowledgements up to snd_nxt. */
    pcb->snd_nxt = content->written + ((content->flags & STORE_CLOSED) != 0 ? 1u : 0u);
    connection->has_ended = (content->flags & STORE_ENDED) != 0;
    connection->is_closing = (content->flags & STORE_CLOSED) != 0;
    connection->is_closed = connection->is_closing;
    connection->is_resending = true;
    connection_limit_window(connection);
    connection_queue(connection);
}

/* Both sides have closed. The peer may still repeat its FIN (RFC 9293, 3.6.1). */
static void restore_waiting(struct tcp_pcb *pcb, struct store_slot *slot)
{
    pcb->state = TIME_WAIT;
    pcb->lastack = slot->content.written + 1;
    pcb->snd_nxt = pcb->lastack;
    pcb->snd_lbb = pcb->lastack;
    pcb->listener = NULL;
    TCP_REG(&tcp_tw_pcbs, pcb);
    connection_counts.kept++;
    slots_wait(slot);
}

static void restore_active(struct connection *connection, struct tcp_pcb *pcb)
{
    const struct store_content *content = &connection->slot->content;

    connection->read = content->consumed;
    connection->written = content->written;
    connection->queued = content->acknowledged;
    connection->resent_end = content->written;
    connection->announcements = ANNOUNCEMENTS;
    callbacks_attach(connection, pcb);
    TCP_REG_ACTIVE(pcb);
    connection_counts.kept++;
    restored_count++;
    if ((content->flags & STORE_OPEN) == 0) {
        restore_half_open(pcb, content);
        return;
    }
    restore_open(connection, pcb);
    if (!connection->is_closed) {
        (void)connection_tell_opened(connection);
    }
}

/* Drops a connection. `pcb`, which is on no list yet, and `connection` may be NULL. */
static void drop(struct store_slot *slot, struct tcp_pcb *pcb, struct connection *connection,
                 const char *reason)
{
    print("connection: port %u: a kept connection is dropped: %s\n", slot->content.local_port,
          reason);
    connection_counts.dropped++;
    store_erase(slot);
    if (connection != NULL) {
        entry_free(connection);
    }
    if (pcb != NULL) {
        pcb->local_port = 0;
        (void)tcp_close(pcb);
    }
}

static void restore_slot(const struct connection_service *service, struct store_slot *slot)
{
    struct tcp_pcb *pcb = tcp_new();
    struct connection *connection = entry_take(service);

    if (pcb == NULL || connection == NULL) {
        drop(slot, pcb, connection, "no memory");
    } else if (!fill(pcb, &slot->content, service->port)) {
        drop(slot, pcb, connection, "its addresses or sizes are wrong");
    } else if ((slot->content.flags & STORE_WAITING) != 0) {
        entry_free(connection);
        restore_waiting(pcb, slot);
    } else {
        connection->slot = slot;
        restore_active(connection, pcb);
    }
}

/* ---- Telling the peers ---- */

/* Returns true if the interface has the IPv6 address and may use it: until no other station has
 * answered for it, it takes no segments (RFC 4862, 5.4). */
static bool has_valid_address_6(struct netif *netif, const ip6_addr_t *address)
{
    s8_t index = netif_get_ip6_addr_match(netif, address);

    return index >= 0 && ip6_addr_isvalid(netif_ip6_addr_state(netif, index));
}

/* Returns true if an interface that is up has the address. */
static bool is_own_address(const ip_addr_t *address)
{
    struct netif *netif;

    NETIF_FOREACH(netif)
    {
        if (!netif_is_up(netif) || !netif_is_link_up(netif)) {
            continue;
        }
        if (IP_IS_V4(address) && ip4_addr_cmp(ip_2_ip4(address), netif_ip4_addr(netif))) {
            return true;
        }
        if (IP_IS_V6(address) && has_valid_address_6(netif, ip_2_ip6(address))) {
            return true;
        }
    }
    return false;
}

/* Tells the peer that the segment behind the last acknowledged byte could not be delivered. */
static void tell_unreachable(const struct tcp_pcb *pcb)
{
    struct pbuf *segment = pbuf_alloc(PBUF_RAW, sizeof(struct lost_segment), PBUF_RAM);
    struct lost_segment *lost;

    if (segment == NULL) {
        return;
    }
    lost = segment->payload;
    memset(lost, 0, sizeof(*lost));
    IPH_VHL_SET(&lost->ip, 4, IP_HLEN / 4);
    IPH_LEN_SET(&lost->ip, lwip_htons(IP_HLEN + TCP_HLEN));
    IPH_TTL_SET(&lost->ip, 1);
    IPH_PROTO_SET(&lost->ip, IP_PROTO_TCP);
    lost->ip.src.addr = ip_2_ip4(&pcb->remote_ip)->addr;
    lost->ip.dest.addr = ip_2_ip4(&pcb->local_ip)->addr;
    IPH_CHKSUM_SET(&lost->ip, inet_chksum(&lost->ip, IP_HLEN));
    lost->source = lwip_htons(pcb->remote_port);
    lost->destination = lwip_htons(pcb->local_port);
    lost->sequence = lwip_htonl(pcb->rcv_nxt);
    for (unsigned i = 0; i < UNREACHABLE_MESSAGES; i++) {
        icmp_dest_unreach(segment, ICMP_DUR_HOST);
    }
    (void)pbuf_free(segment);
}

/* Makes a peer repeat what it has sent and was not acknowledged. The connection is open: a peer in
 * SYN-SENT would give up if it learnt that this host was not reachable. */
static void ask_for_repetition(const struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    if (connection->announcements != ANNOUNCEMENTS && IP_IS_V4(&pcb->remote_ip)) {
        tell_unreachable(pcb);
    }
    for (unsigned i = 0; i < ACKNOWLEDGEMENTS; i++) {
        (void)tcp_send_empty_ack(pcb);
    }
}

static void tell_peer(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    if (pcb->unacked != NULL) {
        (void)tcp_rexmit_rto_prepare(pcb);
        pcb->nrtx = 0; /* the peer did not leave these unanswered */
    }
    if (pcb->state != SYN_RCVD) {
        ask_for_repetition(connection);
    }
    connection->announcements--;
    (void)tcp_output(pcb);
}

/* Forgets a connection with an address that this machine does not get any more. */
static void give_up(struct connection *connection)
{
    print("connection: port %u: a kept connection is dropped: this machine has another address "
          "now\n",
          connection->service->port);
    connection_counts.dropped++;
    tcp_abandon(connection->pcb, 0);
}

/* The result of an announcement to all peers. */
enum announcement {
    ALL_TOLD,
    SOME_REMAIN, /* peers were told, and may be told again */
    NONE_TOLD,   /* no interface has an address yet */
};

/* Tells each peer of which no bytes have arrived. */
static enum announcement announce_all(bool is_last)
{
    enum announcement result = ALL_TOLD;
    struct connection *connection;

    for (unsigned i = 0; (connection = entry_get(i)) != NULL; i++) {
        if (connection->announcements == 0) {
            continue;
        }
        if (is_own_address(&connection->pcb->local_ip)) {
            tell_peer(connection);
            result = SOME_REMAIN;
        } else if (is_last) {
            give_up(connection);
        } else if (result == ALL_TOLD) {
            result = NONE_TOLD;
        }
    }
    return result;
}

static void announce(void *argument);

/* Sets the timer of the next announcement. */
static void set_timer(void *argument)
{
    (void)argument;
    sys_untimeout(announce, NULL);
    sys_timeout(announce_pause, announce, NULL);
}

/* Tells peers of the addresses that the machine has. */
static void announce_now(void)
{
    enum announcement result = announce_all(sys_now() - announce_began > ADDRESS_MILLISECONDS);

    announce_pause = result == NONE_TOLD ? ADDRESS_LOOK_MILLISECONDS : announce_next;
    if (result == SOME_REMAIN) {
        announce_next *= ANNOUNCE_FACTOR;
    }
    is_announcing = result != ALL_TOLD;
}

/* A timer function of lwIP. */
static void announce(void *argument)
{
    (void)argument;
    announce_now();
    if (is_announcing) {
        set_timer(NULL);
    }
}

/* lwIP calls this when an interface changes. */
static void interface_changed(struct netif *netif, netif_nsc_reason_t reason,
                              const netif_ext_callback_args_t *arguments)
{
    const unsigned reasons = LWIP_NSC_LINK_CHANGED | LWIP_NSC_STATUS_CHANGED |
                             LWIP_NSC_IPV4_ADDRESS_CHANGED | LWIP_NSC_IPV6_ADDR_STATE_CHANGED;

    (void)netif;
    (void)arguments;
    if (!is_announcing || (reason & reasons) == 0) {
        return;
    }
    announce_next = ANNOUNCE_MILLISECONDS;
    announce_now();
    if (is_announcing) {
        network_call_in_stack(set_timer, NULL);
    }
}

/* Begins to wait for the addresses of the connections. */
static void begin_announcing(void)
{
    NETIF_DECLARE_EXT_CALLBACK(callback)

    if (!is_announcing) {
        netif_remove_ext_callback(&callback); /* of an earlier service */
        netif_add_ext_callback(&callback, interface_changed);
    }
    is_announcing = true;
    announce_began = sys_now();
    announce_pause = ADDRESS_LOOK_MILLISECONDS;
    announce_next = ANNOUNCE_MILLISECONDS;
    set_timer(NULL);
}

void restore_service(const struct connection_service *service, struct tcp_pcb *listener)
{
    restored_count = 0;
    listener_of_service = listener;
    slots_each_found(service, restore_slot);
    listener_of_service = NULL;
    if (restored_count == 0) {
        return;
    }
    connection_counts.restored += restored_count;
    print("connection: port %u: %u connections continue\n", service->port, restored_count);
    begin_announcing();
}
