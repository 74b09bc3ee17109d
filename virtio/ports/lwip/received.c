/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of received frames by their fate (virtio_netif.h). lwIP counts the packets that each
 * protocol receives, and those that it drops for a known cause. These counters cost nothing more on
 * the path of a frame, so the fates are differences of them. A protocol receives each packet that
 * the one below it has not dropped: this gives the drops that lwIP does not count, such as IPv6
 * packets for other stations. The interface itself counts the frames that it passes to lwIP.
 */
#include "lwip/stats.h"
#include "netif_private.h"
#include "received_counts.h"

struct received_counts received_counts;

/* lwIP's counters that only received packets change. */
enum source {
    ARP_RECEIVED,
    TYPE_DROPPED,
    IP4_RECEIVED,
    IP4_LENGTH,
    IP4_CHECKSUM,
    IP4_PROTOCOL,
    IP6_RECEIVED,
    IP6_LENGTH,
    IP6_PROTOCOL,
    FRAGMENT4_RECEIVED,
    FRAGMENT4_DROPPED,
    FRAGMENT6_RECEIVED,
    FRAGMENT6_LENGTH, /* too short for their header; not among those received, but those dropped */
    FRAGMENT6_DROPPED,
    ICMP_RECEIVED,
    ICMP_LENGTH,
    ICMP_CHECKSUM,
    ICMP_TYPE,
    ICMP_ERROR,
    ICMPV6_RECEIVED,
    ICMPV6_LENGTH,
    ICMPV6_CHECKSUM,
    ICMPV6_DROPPED, /* also those of the two before */
    NEIGHBOUR_DROPPED,
    LISTENER_DROPPED,
    UDP_RECEIVED,
    UDP_LENGTH,
    UDP_CHECKSUM,
    UDP_DELIVERED,
    TCP_RECEIVED,
    TCP_LENGTH,
    TCP_CHECKSUM,
    TCP_NO_CONNECTION,
    TCP_DROPPED, /* also those of the three before */
    SOURCES,
};

static const u32_t *const sources[SOURCES] = {
    [ARP_RECEIVED] = &lwip_stats.etharp.recv,
    [TYPE_DROPPED] = &lwip_stats.etharp.drop,
    [IP4_RECEIVED] = &lwip_stats.ip.recv,
    [IP4_LENGTH] = &lwip_stats.ip.lenerr,
    [IP4_CHECKSUM] = &lwip_stats.ip.chkerr,
    [IP4_PROTOCOL] = &lwip_stats.ip.proterr,
    [IP6_RECEIVED] = &lwip_stats.ip6.recv,
    [IP6_LENGTH] = &lwip_stats.ip6.lenerr,
    [IP6_PROTOCOL] = &lwip_stats.ip6.proterr,
    [FRAGMENT4_RECEIVED] = &lwip_stats.ip_frag.recv,
    [FRAGMENT4_DROPPED] = &lwip_stats.ip_frag.drop,
    [FRAGMENT6_RECEIVED] = &lwip_stats.ip6_frag.recv,
    [FRAGMENT6_LENGTH] = &lwip_stats.ip6_frag.lenerr,
    [FRAGMENT6_DROPPED] = &lwip_stats.ip6_frag.drop,
    [ICMP_RECEIVED] = &lwip_stats.icmp.recv,
    [ICMP_LENGTH] = &lwip_stats.icmp.lenerr,
    [ICMP_CHECKSUM] = &lwip_stats.icmp.chkerr,
    [ICMP_TYPE] = &lwip_stats.icmp.proterr,
    [ICMP_ERROR] = &lwip_stats.icmp.err,
    [ICMPV6_RECEIVED] = &lwip_stats.icmp6.recv,
    [ICMPV6_LENGTH] = &lwip_stats.icmp6.lenerr,
    [ICMPV6_CHECKSUM] = &lwip_stats.icmp6.chkerr,
    [ICMPV6_DROPPED] = &lwip_stats.icmp6.drop,
    [NEIGHBOUR_DROPPED] = &lwip_stats.nd6.drop,
    [LISTENER_DROPPED] = &lwip_stats.mld6.drop,
    [UDP_RECEIVED] = &lwip_stats.udp.recv,
    [UDP_LENGTH] = &lwip_stats.udp.lenerr,
    [UDP_CHECKSUM] = &lwip_stats.udp.chkerr,
    [UDP_DELIVERED] = &received_counts.mib2.udpindatagrams,
    [TCP_RECEIVED] = &lwip_stats.tcp.recv,
    [TCP_LENGTH] = &lwip_stats.tcp.lenerr,
    [TCP_CHECKSUM] = &lwip_stats.tcp.chkerr,
    [TCP_NO_CONNECTION] = &lwip_stats.tcp.proterr,
    [TCP_DROPPED] = &lwip_stats.tcp.drop,
};

/* The counters' values at the last call of received_add_up(), and their sums since the start. */
static struct {
    uint32_t value;
    uint64_t sum;
} totals[SOURCES];

static const char *const names[VIRTIO_NETIF_FATES] = {
    [VIRTIO_NETIF_ARP] = "arp",
    [VIRTIO_NETIF_ICMP] = "icmp",
    [VIRTIO_NETIF_ICMPV6] = "icmpv6",
    [VIRTIO_NETIF_UDP] = "udp",
    [VIRTIO_NETIF_TCP] = "tcp",
    [VIRTIO_NETIF_BYPASS] = "bypass",
    [VIRTIO_NETIF_FRAGMENT] = "fragment",
    [VIRTIO_NETIF_NO_MEMORY] = "no_memory",
    [VIRTIO_NETIF_TOO_LONG] = "too_long",
    [VIRTIO_NETIF_VLAN] = "vlan",
    [VIRTIO_NETIF_TYPE] = "type",
    [VIRTIO_NETIF_IP_LENGTH] = "ip_length",
    [VIRTIO_NETIF_IP_CHECKSUM] = "ip_checksum",
    [VIRTIO_NETIF_IP_PROTOCOL] = "ip_protocol",
    [VIRTIO_NETIF_IP_OTHER] = "ip_other",
    [VIRTIO_NETIF_IP_FRAGMENT] = "ip_fragment",
    [VIRTIO_NETIF_ICMP_LENGTH] = "icmp_length",
    [VIRTIO_NETIF_ICMP_CHECKSUM] = "icmp_checksum",
    [VIRTIO_NETIF_ICMP_OTHER] = "icmp_other",
    [VIRTIO_NETIF_UDP_LENGTH] = "udp_length",
    [VIRTIO_NETIF_UDP_CHECKSUM] = "udp_checksum",
    [VIRTIO_NETIF_UDP_NO_RECEIVER] = "udp_no_receiver",
    [VIRTIO_NETIF_UDP_UNREAD] = "udp_unread",
    [VIRTIO_NETIF_TCP_LENGTH] = "tcp_length",
    [VIRTIO_NETIF_TCP_CHECKSUM] = "tcp_checksum",
    [VIRTIO_NETIF_TCP_NO_RECEIVER] = "tcp_no_receiver",
    [VIRTIO_NETIF_TCP_REFUSED] = "tcp_refused",
};

const char *virtio_netif_fate_name(enum virtio_netif_fate fate)
{
    return names[fate];
}

/* While the packet is being processed a program may read the counts, so they are right for a packet
 * that reaches a program. */
void received_join_begin(struct received_join *join, uint32_t frames)
{
    join->others = frames - 1;
    join->segments = lwip_stats.tcp.recv;
    join->no_connection = lwip_stats.tcp.proterr;
    join->refused = lwip_stats.tcp.drop + received_counts.segments_refused;
    received_counts.joined += join->others;
    received_counts.joined_segments += join->others;
}

void received_join_end(const struct received_join *join)
{
    if (lwip_stats.tcp.recv == join->segments) {
        received_counts.joined_segments -= join->others; /* dropped by IP */
    } else if (lwip_stats.tcp.proterr != join->no_connection) {
        received_counts.joined_no_connection += join->others;
    } else if (lwip_stats.tcp.drop + received_counts.segments_refused != join->refused) {
        received_counts.joined_refused += join->others;
    }
}

void received_add_up(void)
{
    for (unsigned i = 0; i < SOURCES; i++) {
        uint32_t value = *sources[i];

        totals[i].sum += value - totals[i].value;
        totals[i].value = value;
    }
}

static uint64_t total(enum source source)
{
    return totals[source].sum;
}

static uint64_t tcp_segments(void)
{
    return total(TCP_RECEIVED) - received_counts.segments_repeated +
           received_counts.joined_segments;
}

static void read_ip(uint64_t *fate)
{
    uint64_t packets = total(IP4_RECEIVED) + total(IP6_RECEIVED) + received_counts.joined;
    uint64_t fragments = total(FRAGMENT4_RECEIVED) + total(FRAGMENT6_RECEIVED);
    uint64_t delivered =
        total(ICMP_RECEIVED) + total(ICMPV6_RECEIVED) + total(UDP_RECEIVED) + tcp_segments();

    fate[VIRTIO_NETIF_IP_LENGTH] = total(IP4_LENGTH) + total(IP6_LENGTH) + total(FRAGMENT6_LENGTH);
    fate[VIRTIO_NETIF_IP_CHECKSUM] = total(IP4_CHECKSUM);
    fate[VIRTIO_NETIF_IP_PROTOCOL] = total(IP4_PROTOCOL) + total(IP6_PROTOCOL);
    fate[VIRTIO_NETIF_IP_FRAGMENT] =
        total(FRAGMENT4_DROPPED) + total(FRAGMENT6_DROPPED) - total(FRAGMENT6_LENGTH);
    fate[VIRTIO_NETIF_FRAGMENT] = fragments - fate[VIRTIO_NETIF_IP_FRAGMENT];
    fate[VIRTIO_NETIF_IP_OTHER] = packets - fragments + received_counts.reassembled - delivered -
                                  fate[VIRTIO_NETIF_IP_LENGTH] - fate[VIRTIO_NETIF_IP_CHECKSUM] -
                                  fate[VIRTIO_NETIF_IP_PROTOCOL];
}

static void read_icmp(uint64_t *fate)
{
    uint64_t other = total(ICMP_TYPE) + total(ICMP_ERROR);
    uint64_t dropped6 = total(ICMPV6_DROPPED) + total(NEIGHBOUR_DROPPED) + total(LISTENER_DROPPED);

    fate[VIRTIO_NETIF_ICMP_LENGTH] = total(ICMP_LENGTH) + total(ICMPV6_LENGTH);
    fate[VIRTIO_NETIF_ICMP_CHECKSUM] = total(ICMP_CHECKSUM) + total(ICMPV6_CHECKSUM);
    fate[VIRTIO_NETIF_ICMP_OTHER] =
        other + dropped6 - total(ICMPV6_LENGTH) - total(ICMPV6_CHECKSUM);
    fate[VIRTIO_NETIF_ICMP] =
        total(ICMP_RECEIVED) - total(ICMP_LENGTH) - total(ICMP_CHECKSUM) - other;
    fate[VIRTIO_NETIF_ICMPV6] = total(ICMPV6_RECEIVED) - dropped6;
}

static void read_udp(uint64_t *fate)
{
    fate[VIRTIO_NETIF_UDP_LENGTH] = total(UDP_LENGTH);
    fate[VIRTIO_NETIF_UDP_CHECKSUM] = total(UDP_CHECKSUM);
    fate[VIRTIO_NETIF_UDP_NO_RECEIVER] =
        total(UDP_RECEIVED) - total(UDP_LENGTH) - total(UDP_CHECKSUM) - total(UDP_DELIVERED);
    fate[VIRTIO_NETIF_UDP_UNREAD] = received_counts.datagrams_unread;
    fate[VIRTIO_NETIF_UDP] = total(UDP_DELIVERED) - received_counts.datagrams_unread;
}

static void read_tcp(uint64_t *fate)
{
    fate[VIRTIO_NETIF_TCP_LENGTH] = total(TCP_LENGTH);
    fate[VIRTIO_NETIF_TCP_CHECKSUM] = total(TCP_CHECKSUM);
    fate[VIRTIO_NETIF_TCP_NO_RECEIVER] =
        total(TCP_NO_CONNECTION) + received_counts.joined_no_connection;
    fate[VIRTIO_NETIF_TCP_REFUSED] = total(TCP_DROPPED) - total(TCP_LENGTH) - total(TCP_CHECKSUM) -
                                     total(TCP_NO_CONNECTION) + received_counts.segments_refused +
                                     received_counts.joined_refused;
    fate[VIRTIO_NETIF_TCP] = tcp_segments() - fate[VIRTIO_NETIF_TCP_LENGTH] -
                             fate[VIRTIO_NETIF_TCP_CHECKSUM] - fate[VIRTIO_NETIF_TCP_NO_RECEIVER] -
                             fate[VIRTIO_NETIF_TCP_REFUSED];
}

void received_read(const struct virtio_netif *interface, struct virtio_netif_received *received)
{
    uint64_t *fate = received->fate;

    received_add_up();
    received->reassembled = received_counts.reassembled;
    fate[VIRTIO_NETIF_BYPASS] = interface->bypassed;
    fate[VIRTIO_NETIF_NO_MEMORY] = interface->dropped_no_memory;
    fate[VIRTIO_NETIF_TOO_LONG] = interface->dropped_too_long;
    fate[VIRTIO_NETIF_VLAN] = interface->dropped_vlan;
    received->frames = interface->passed + interface->bypassed + interface->dropped_no_memory +
                       interface->dropped_too_long + interface->dropped_vlan;
    fate[VIRTIO_NETIF_ARP] = total(ARP_RECEIVED);
    fate[VIRTIO_NETIF_TYPE] = total(TYPE_DROPPED);
    read_ip(fate);
    read_icmp(fate);
    read_udp(fate);
    read_tcp(fate);
}
