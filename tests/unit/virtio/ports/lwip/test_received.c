/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of received frames by their fate (received.c, receive.c, tcp_guard.c), with lwIP. Each
 * test hands over known frames and compares all counts.
 */
#include "lwip/api.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip_stack.h"
#include "network_order.h"
#include "packets.h"
#include "receive_pressure.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define IPV4  0x0800u
#define IPV6  0x86ddu
#define ARP   0x0806u
#define BLOCK 2048u

enum { ICMP = 1, TCP = 6, UDP = 17, FRAGMENT = 44, ICMPV6 = 58, NONE = 59, OPTIONS = 60 };

#define PORT        7u
#define CLOSED_PORT 1234u
#define PEER_PORT   40000u
#define PRIORITY    0xa000u /* a tag of VLAN 0 with priority 5 */

static struct virtio_netif_received expected;

/* These frames had this fate. */
static void became(enum virtio_netif_fate fate, uint64_t frames)
{
    expected.fate[fate] += frames;
    expected.frames += frames;
}

/* IP made one more packet, which has a fate of its own. */
static void was_reassembled(void)
{
    expected.reassembled++;
    expected.frames--;
}

static void compare(void)
{
    struct virtio_netif_received received;
    uint64_t sum = 0;

    received_read(&stack.interface, &received);
    for (unsigned i = 0; i < VIRTIO_NETIF_FATES; i++) {
        if (received.fate[i] != expected.fate[i]) {
            fail_msg("%s: %llu, not %llu", virtio_netif_fate_name(i),
                     (unsigned long long)received.fate[i], (unsigned long long)expected.fate[i]);
        }
        sum += received.fate[i];
    }
    assert_int_equal(received.frames, expected.frames);
    assert_int_equal(received.reassembled, expected.reassembled);
    assert_int_equal(sum, received.frames + received.reassembled);
}

static void receive(struct packet *packet)
{
    stack_receive(packet_start(packet), packet_bytes(packet));
}

/* Receives a frame that has this one fate. */
static void receive_as(struct packet *packet, enum virtio_netif_fate fate)
{
    receive(packet);
    became(fate, 1);
    compare();
}

static struct packet udp(unsigned version, uint16_t port, size_t bytes)
{
    struct packet packet;

    packet_data(&packet, bytes);
    packet_udp(&packet, version, port);
    version == 4 ? packet_ip4(&packet, UDP) : packet_ip6(&packet, UDP);
    packet_ethernet(&packet, version == 4 ? IPV4 : IPV6);
    return packet;
}

static struct packet segment(uint16_t peer_port, uint16_t port, uint32_t sequence,
                             uint32_t acknowledged, unsigned flags, size_t bytes)
{
    struct packet packet;

    packet_data(&packet, bytes);
    packet_tcp(&packet, 4, peer_port, port, sequence, acknowledged, flags);
    packet_ip4(&packet, TCP);
    packet_ethernet(&packet, IPV4);
    return packet;
}

static struct packet echo(unsigned version)
{
    struct packet packet;

    packet_data(&packet, 32);
    packet_echo(&packet, version);
    version == 4 ? packet_ip4(&packet, ICMP) : packet_ip6(&packet, ICMPV6);
    packet_ethernet(&packet, version == 4 ? IPV4 : IPV6);
    return packet;
}

static struct packet arp_request(void)
{
    struct packet packet;

    packet_arp(&packet);
    packet_ethernet(&packet, ARP);
    return packet;
}

static uint8_t *ip_of(struct packet *packet)
{
    return packet_start(packet) + 14;
}

/* ---- A program that reads datagrams ---- */

static struct netconn *open_mailbox(uint16_t port, unsigned capacity)
{
    struct netconn *program;

    stack.mailbox_capacity = capacity;
    program = netconn_new(NETCONN_UDP_IPV6);
    assert_non_null(program);
    assert_int_equal(netconn_bind(program, IP6_ADDR_ANY, port), ERR_OK);
    return program;
}

static void close_mailbox(struct netconn *program)
{
    assert_int_equal(netconn_delete(program), ERR_OK);
}

/* Reads a datagram of packet_data(). */
static void read_datagram(struct netconn *program, size_t bytes)
{
    struct netbuf *datagram;
    uint8_t data[PACKET_MAX];

    assert_int_equal(netconn_recv_udp_raw_netbuf_flags(program, &datagram, NETCONN_DONTBLOCK),
                     ERR_OK);
    assert_int_equal(netbuf_len(datagram), bytes);
    assert_int_equal(netbuf_copy(datagram, data, sizeof(data)), bytes);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(data[i], (uint8_t)i);
    }
    netbuf_delete(datagram);
}

/* ---- Tests ---- */

static void ethernet(void **state)
{
    struct packet packet = arp_request();
    unsigned sent = stack.sent;

    (void)state;
    receive_as(&packet, VIRTIO_NETIF_ARP);
    assert_int_equal(stack.sent, sent + 1);
    packet_start(&packet)[14] = 9; /* another kind of hardware */
    receive_as(&packet, VIRTIO_NETIF_TYPE);
    packet = udp(4, PORT, 20);
    put16(packet_start(&packet) + 12, 0x88cc); /* LLDP */
    receive_as(&packet, VIRTIO_NETIF_TYPE);
    packet_data(&packet, 0);
    packet_ethernet(&packet, IPV4);
    receive_as(&packet, VIRTIO_NETIF_TYPE);
    packet = echo(4); /* for another station: lwIP compares no MAC addresses */
    packet_start(&packet)[5] = 9;
    receive_as(&packet, VIRTIO_NETIF_ICMP);
}

static void ipv4(void **state)
{
    struct packet packet = udp(4, PORT, 20);

    (void)state;
    ip_of(&packet)[8]--; /* the checksum is wrong now */
    receive_as(&packet, VIRTIO_NETIF_IP_CHECKSUM);
    packet = udp(4, PORT, 20);
    put16(ip_of(&packet) + 2, 2000);
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_IP_LENGTH);
    packet = udp(4, PORT, 20);
    ip_of(&packet)[0] = 0x55; /* version 5 */
    receive_as(&packet, VIRTIO_NETIF_IP_OTHER);
    packet = udp(4, PORT, 20);
    ip_of(&packet)[19] = 9; /* another station */
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_IP_OTHER);
    packet = udp(4, PORT, 20);
    ip_of(&packet)[12] = 224; /* from a group */
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_IP_OTHER);
    packet = udp(4, PORT, 20);
    ip_of(&packet)[9] = 132; /* SCTP */
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_IP_PROTOCOL);
}

static void ipv6(void **state)
{
    struct packet packet = udp(6, PORT, 20);

    (void)state;
    ip_of(&packet)[39] = 9; /* another station: lwIP counts nothing */
    receive_as(&packet, VIRTIO_NETIF_IP_OTHER);
    packet = udp(6, PORT, 20);
    ip_of(&packet)[6] = NONE; /* no next header: lwIP counts nothing */
    receive_as(&packet, VIRTIO_NETIF_IP_OTHER);
    packet = udp(6, PORT, 20);
    put16(ip_of(&packet) + 4, 2000);
    receive_as(&packet, VIRTIO_NETIF_IP_LENGTH);
    packet = udp(6, PORT, 20);
    ip_of(&packet)[6] = 132;
    receive_as(&packet, VIRTIO_NETIF_IP_PROTOCOL);
    packet_data(&packet, 4);
    packet_ip6(&packet, FRAGMENT); /* 4 bytes are too few for its header */
    packet_ethernet(&packet, IPV6);
    receive_as(&packet, VIRTIO_NETIF_IP_LENGTH);
}

static void icmp(void **state)
{
    struct packet packet = echo(4);
    unsigned sent = stack.sent;

    (void)state;
    receive_as(&packet, VIRTIO_NETIF_ICMP);
    assert_int_equal(stack.sent, sent + 1);
    packet = echo(4);
    packet_start(&packet)[14 + 20 + 8]++;
    receive_as(&packet, VIRTIO_NETIF_ICMP_CHECKSUM);
    packet_data(&packet, 2);
    packet_ip4(&packet, ICMP);
    packet_ethernet(&packet, IPV4);
    receive_as(&packet, VIRTIO_NETIF_ICMP_LENGTH);
    packet = echo(4);
    packet_start(&packet)[14 + 20] = 13; /* timestamp */
    receive_as(&packet, VIRTIO_NETIF_ICMP_OTHER);
    packet = echo(4);
    memset(ip_of(&packet) + 16, 0xff, 4); /* an echo request to all */
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_ICMP_OTHER);
}

static void icmpv6(void **state)
{
    struct packet packet = echo(6);

    (void)state;
    receive_as(&packet, VIRTIO_NETIF_ICMPV6);
    packet_start(&packet)[14 + 40 + 8]++;
    receive_as(&packet, VIRTIO_NETIF_ICMP_CHECKSUM);
    packet_data(&packet, 4);
    packet_ip6(&packet, ICMPV6);
    packet_ethernet(&packet, IPV6);
    receive_as(&packet, VIRTIO_NETIF_ICMP_LENGTH);
    packet_data(&packet, 0); /* a neighbour advertisement that is too short */
    packet_echo(&packet, 6);
    packet_start(&packet)[2]--; /* the checksum is right for a type of 8 * 256 more */
    packet_start(&packet)[0] = 136;
    packet_start(&packet)[2] = (uint8_t)(packet_start(&packet)[2] + 1 - 8);
    packet_ip6(&packet, ICMPV6);
    packet_ethernet(&packet, IPV6);
    receive_as(&packet, VIRTIO_NETIF_ICMP_OTHER);
}

static void datagrams(void **state)
{
    struct packet packet = udp(4, CLOSED_PORT, 20);
    unsigned sent = stack.sent;
    struct netconn *program;

    (void)state;
    receive_as(&packet, VIRTIO_NETIF_UDP_NO_RECEIVER);
    assert_int_equal(stack.sent, sent + 1); /* "port unreachable" */
    memset(ip_of(&packet) + 16, 0xff, 4);   /* to all: lwIP counts nothing */
    packet_seal_ip4(ip_of(&packet));
    receive_as(&packet, VIRTIO_NETIF_UDP_NO_RECEIVER);
    packet = udp(6, CLOSED_PORT, 20);
    receive_as(&packet, VIRTIO_NETIF_UDP_NO_RECEIVER);
    packet_data(&packet, 4);
    packet_ip4(&packet, UDP);
    packet_ethernet(&packet, IPV4);
    receive_as(&packet, VIRTIO_NETIF_UDP_LENGTH);

    program = open_mailbox(PORT, 4);
    packet = udp(4, PORT, 20);
    receive_as(&packet, VIRTIO_NETIF_UDP);
    read_datagram(program, 20);
    packet_start(&packet)[14 + 20 + 8 + 3]++;
    receive_as(&packet, VIRTIO_NETIF_UDP_CHECKSUM);
    packet = udp(6, PORT, 33);
    receive_as(&packet, VIRTIO_NETIF_UDP);
    read_datagram(program, 33);
    close_mailbox(program);
}

/* Datagrams that the program does not read: lwIP drops them without a count. */
static void unread_datagrams(void **state)
{
    struct packet packet = udp(4, PORT, 1);
    struct netconn *program = open_mailbox(PORT, 4);
    struct netconn *other = open_mailbox(PORT + 1, MAILBOX_MAX);

    (void)state;
    for (unsigned i = 0; i < 10; i++) { /* one place stays free (external/lwip_corrections/) */
        receive_as(&packet, i < 3 ? VIRTIO_NETIF_UDP : VIRTIO_NETIF_UDP_UNREAD);
    }
    packet = udp(4, PORT + 1, 1);
    for (unsigned i = 3; i < MEMP_NUM_NETBUF + 5u; i++) { /* no netbuf is free for more */
        receive_as(&packet, i < MEMP_NUM_NETBUF ? VIRTIO_NETIF_UDP : VIRTIO_NETIF_UDP_UNREAD);
    }
    close_mailbox(program);
    close_mailbox(other);
}

/* Makes a fragment of a UDP datagram with 24 bytes, the first or the last 16. */
static struct packet fragment4(bool last)
{
    struct packet whole = udp(4, PORT, 24);
    struct packet packet;

    packet_data(&packet, 0);
    packet_add(&packet, ip_of(&whole) + 20 + (last ? 16 : 0), 16);
    packet_ip4(&packet, UDP);
    put16(packet_start(&packet) + 6, last ? 2 : 0x2000);
    packet_seal_ip4(packet_start(&packet));
    packet_ethernet(&packet, IPV4);
    return packet;
}

static struct packet fragment6(bool last)
{
    struct packet whole = udp(6, PORT, 24);
    uint8_t header[8] = {UDP};
    struct packet packet;

    put16(header + 2, last ? 16 : 1);
    packet_data(&packet, 0);
    packet_add(&packet, ip_of(&whole) + 40 + (last ? 16 : 0), 16);
    packet_add(&packet, header, sizeof(header));
    packet_ip6(&packet, FRAGMENT);
    packet_ethernet(&packet, IPV6);
    return packet;
}

static void fragments(void **state)
{
    struct packet (*const make[])(bool) = {fragment4, fragment6};
    struct netconn *program = open_mailbox(PORT, 4);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct packet packet = make[i](false);

        receive_as(&packet, VIRTIO_NETIF_FRAGMENT);
        receive_as(&packet, VIRTIO_NETIF_IP_FRAGMENT); /* the same again */
        packet = make[i](true);
        receive(&packet);
        became(VIRTIO_NETIF_FRAGMENT, 1);
        was_reassembled();
        became(VIRTIO_NETIF_UDP, 1);
        compare();
        read_datagram(program, 24);
    }
    close_mailbox(program);
}

static void vlan_tags(void **state)
{
    struct netconn *program = open_mailbox(PORT, 4);
    struct packet packet = udp(4, PORT, 20);
    struct packet tagged;

    (void)state;
    packet_tag(&packet, PRIORITY);
    receive_as(&packet, VIRTIO_NETIF_UDP);
    read_datagram(program, 20);
    for (size_t bytes = 14; bytes < 18; bytes++) { /* too short for the tag */
        stack_receive(packet_start(&packet), bytes);
        became(VIRTIO_NETIF_TYPE, 1);
        compare();
    }
    stack_receive(packet_start(&packet), 18);
    became(VIRTIO_NETIF_TYPE, 1);
    tagged = packet;
    packet_tag(&tagged, PRIORITY);
    receive_as(&tagged, VIRTIO_NETIF_TYPE);
    packet = udp(4, PORT, 20);
    packet_tag(&packet, PRIORITY | 5);
    receive_as(&packet, VIRTIO_NETIF_VLAN);
    packet = udp(4, PORT, 20);
    packet_tag(&packet, 0xfff);
    receive_as(&packet, VIRTIO_NETIF_VLAN);
    close_mailbox(program);
}

/* Hands over a frame as a device of this machine would, with a checksum of the pseudo header only.
 */
static void receive_partial(struct packet *packet, size_t headers, size_t first_bytes)
{
    struct virtio_net_buffer *buffer;
    uint8_t *checksum = packet_start(packet) + headers - 2;

    put16(checksum, 0x1234); /* lwIP must not look at it, or the port must complete it */
    buffer = stack_buffer(packet_start(packet), first_bytes);
    buffer->checksum = VIRTIO_NET_CHECKSUM_PARTIAL;
    buffer->checksum_start = (uint16_t)(headers - 8);
    buffer->checksum_offset = 6;
    if (first_bytes < packet_bytes(packet)) {
        size_t rest = packet_bytes(packet) - first_bytes;

        buffer->rest = stack_buffer(packet_start(packet), 0);
        memcpy(buffer->rest->memory, packet_start(packet) + first_bytes, rest);
        buffer->rest->frame_bytes = (uint32_t)rest;
        buffer->buffers = 2;
    }
    receive_deliver(&stack.interface, buffer);
    receive_finish(&stack.interface);
}

static void partial_checksums(void **state)
{
    struct netconn *program = open_mailbox(PORT, 4);

    (void)state;
    for (unsigned version = 4; version <= 6; version += 2) {
        size_t headers = version == 4 ? 42 : 62;

        for (size_t tag = 0; tag < 2; tag++) {
            for (unsigned large = 0; large < 2; large++) {
                struct packet packet = udp(version, PORT, 1000);

                if (tag == 1) {
                    packet_tag(&packet, PRIORITY);
                }
                receive_partial(&packet, headers + 4 * tag,
                                large == 1 ? 600 : packet_bytes(&packet));
                became(VIRTIO_NETIF_UDP, 1);
                compare();
                read_datagram(program, 1000);
            }
        }
    }
    close_mailbox(program);
}

/* Sum of the pseudo header, as VIRTIO 1.3, 5.1.6.2 wants it in the place of the checksum. */
static uint16_t pseudo_sum6(uint32_t udp_bytes)
{
    const uint8_t *addresses = packet_address6[0];
    uint32_t sum = UDP + udp_bytes;

    for (unsigned i = 0; i < sizeof(packet_address6); i += 2) {
        sum += (uint32_t)addresses[i] << 8 | addresses[i + 1];
    }
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* The port looks for TCP and UDP directly behind the IP header. Behind an extension header lwIP
 * verifies the checksum, so that the port has to complete it. */
static void partial_checksum_behind_options(void **state)
{
    const uint8_t options[8] = {UDP, 0, 1, 4}; /* padding */
    struct netconn *program = open_mailbox(PORT, 4);

    (void)state;
    for (size_t tag = 0; tag < 2; tag++) {
        struct virtio_net_buffer *buffer;
        struct packet packet;

        packet_data(&packet, 101);
        packet_udp(&packet, 6, PORT);
        put16(packet_start(&packet) + 6, pseudo_sum6(109));
        packet_add(&packet, options, sizeof(options));
        packet_ip6(&packet, OPTIONS);
        packet_ethernet(&packet, IPV6);
        if (tag == 1) {
            packet_tag(&packet, PRIORITY);
        }
        buffer = stack_buffer(packet_start(&packet), packet_bytes(&packet));
        buffer->checksum = VIRTIO_NET_CHECKSUM_PARTIAL;
        buffer->checksum_start = (uint16_t)(62 + 4 * tag);
        buffer->checksum_offset = 6;
        receive_deliver(&stack.interface, buffer);
        became(VIRTIO_NETIF_UDP, 1);
        compare();
        read_datagram(program, 101);
    }
    close_mailbox(program);
}

/* ---- TCP ---- */

static struct {
    uint32_t read; /* bytes */
    unsigned calls;
    struct tcp_pcb *connection;
} server;

/* A program may read the counts while its data are delivered: compare() is right then, too. */
static err_t read_stream(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    assert_int_equal(error, ERR_OK);
    if (data == NULL) {
        return tcp_close(pcb);
    }
    compare();
    server.read += data->tot_len;
    server.calls++;
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    return ERR_OK;
}

static err_t accept_connection(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    assert_int_equal(error, ERR_OK);
    server.connection = pcb;
    tcp_recv(pcb, read_stream);
    return ERR_OK;
}

static struct tcp_pcb *listen_on(uint16_t port)
{
    struct tcp_pcb *listener = tcp_new();

    assert_int_equal(tcp_bind(listener, IP4_ADDR_ANY, port), ERR_OK);
    listener = tcp_listen(listener);
    tcp_accept(listener, accept_connection);
    return listener;
}

static uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns the sequence number of the segment that lwIP sent last. */
static uint32_t sent_sequence(void)
{
    return get32(stack.last_sent + 14 + 20 + 4);
}

/* Opens a connection; the peer's first byte has the number 1001. Returns the number that the peer
 * acknowledges. */
static uint32_t open_connection(uint16_t peer_port)
{
    struct packet packet = segment(peer_port, PORT, 1000, 0, PACKET_SYN, 0);
    uint32_t acknowledged;

    receive_as(&packet, VIRTIO_NETIF_TCP);
    acknowledged = sent_sequence() + 1;
    packet = segment(peer_port, PORT, 1001, acknowledged, PACKET_ACK, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP);
    assert_non_null(server.connection);
    return acknowledged;
}

static void damaged_segments(void **state)
{
    struct packet packet = segment(PEER_PORT, CLOSED_PORT, 1, 0, PACKET_SYN, 0);

    (void)state;
    receive_as(&packet, VIRTIO_NETIF_TCP_NO_RECEIVER);
    packet = segment(PEER_PORT, CLOSED_PORT, 1, 1, PACKET_ACK, 50);
    receive_as(&packet, VIRTIO_NETIF_TCP_NO_RECEIVER);
    packet_start(&packet)[14 + 20 + 20]++;
    receive_as(&packet, VIRTIO_NETIF_TCP_CHECKSUM);
    packet_data(&packet, 10);
    packet_ip4(&packet, TCP);
    packet_ethernet(&packet, IPV4);
    receive_as(&packet, VIRTIO_NETIF_TCP_LENGTH);
    /* A reset that belongs to no connection has no effect, and is not answered. */
    packet = segment(PEER_PORT, CLOSED_PORT, 1, 1, PACKET_RST, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP);
}

/* Hands over `count` segments of 100 bytes in one batch, which are joined to one packet. `station`:
 * the last byte of their destination. */
static void hand_over_segments(unsigned count, uint16_t port, uint32_t sequence,
                               uint32_t acknowledged, uint8_t station)
{
    for (unsigned i = 0; i < count; i++) {
        struct packet packet =
            segment(PEER_PORT, port, sequence + 100 * i, acknowledged, PACKET_ACK, 100);
        struct virtio_net_buffer *buffer;

        ip_of(&packet)[19] = station;
        packet_seal_ip4(ip_of(&packet));
        buffer = stack_buffer(packet_start(&packet), packet_bytes(&packet));
        buffer->checksum = VIRTIO_NET_CHECKSUM_VALID;
        receive_deliver(&stack.interface, buffer);
    }
}

static void joined_segments(void **state)
{
    struct tcp_pcb *listener = listen_on(PORT);
    uint32_t acknowledged = open_connection(PEER_PORT);

    (void)state;
    hand_over_segments(5, PORT, 1001, acknowledged, 2);
    became(VIRTIO_NETIF_TCP, 5);
    receive_finish(&stack.interface);
    compare();
    assert_int_equal(server.read, 500);
    assert_int_equal(server.calls, 1);
    /* Without a connection, for another station, and refused because memory is short. */
    hand_over_segments(3, CLOSED_PORT, 1, 1, 2);
    receive_finish(&stack.interface);
    became(VIRTIO_NETIF_TCP_NO_RECEIVER, 3);
    compare();
    hand_over_segments(4, PORT, 1501, acknowledged, 9);
    receive_finish(&stack.interface);
    became(VIRTIO_NETIF_IP_OTHER, 4);
    compare();
    network_set_receive_pressure(true);
    hand_over_segments(2, PORT, 1601, acknowledged, 2);
    receive_finish(&stack.interface);
    network_set_receive_pressure(false);
    became(VIRTIO_NETIF_TCP_REFUSED, 2);
    compare();
    assert_int_equal(server.read, 500);
    tcp_abort(server.connection);
    assert_int_equal(tcp_close(listener), ERR_OK);
}

/* tcp_guard.c passes some segments to lwIP a second time, and makes one itself. */
static void repeated_segments(void **state)
{
    struct tcp_pcb *listener = listen_on(PORT);
    uint32_t acknowledged;
    struct packet packet;

    (void)state;
    packet = segment(PEER_PORT, PORT, 1000, 0, PACKET_SYN, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP);
    acknowledged = sent_sequence() + 1;
    for (uint16_t i = 1; i <= 20; i++) { /* more than can be half-open: the first is dropped */
        packet = segment((uint16_t)(PEER_PORT + i), PORT, 1000, 0, PACKET_SYN, 0);
        receive_as(&packet, VIRTIO_NETIF_TCP);
    }
    server.connection = NULL;
    packet = segment(PEER_PORT, PORT, 1001, acknowledged, PACKET_ACK, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP); /* opened from the SYN cache */
    assert_non_null(server.connection);

    /* The connection is closed from this side, waits, and is opened again. */
    assert_int_equal(tcp_close(server.connection), ERR_OK);
    packet = segment(PEER_PORT, PORT, 1001, acknowledged + 1, PACKET_ACK | PACKET_FIN, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP);
    assert_non_null(tcp_tw_pcbs);
    packet = segment(PEER_PORT, PORT, 5000, 0, PACKET_SYN, 0);
    receive_as(&packet, VIRTIO_NETIF_TCP);
    assert_null(tcp_tw_pcbs);
    while (tcp_active_pcbs != NULL) {
        tcp_abort(tcp_active_pcbs);
    }
    assert_int_equal(tcp_close(listener), ERR_OK);
}

/* ---- What the port does itself ---- */

static struct {
    bool takes;
    size_t bytes;
    uint8_t frame[64];
} bypass;

static bool bypass_input(struct virtio_net_buffer *buffer, const uint8_t *frame, size_t bytes)
{
    if (bypass.takes) {
        bypass.bytes = bytes;
        memcpy(bypass.frame, frame, sizeof(bypass.frame));
        virtio_netif_release(buffer);
    }
    return bypass.takes;
}

static void bypassed_frames(void **state)
{
    const struct virtio_netif_bypass functions = {.input = bypass_input};
    struct packet packet = udp(4, PORT, 60);
    struct packet plain = packet;

    (void)state;
    stack.interface.bypass = &functions;
    bypass.takes = true;
    packet_tag(&packet, PRIORITY);
    receive_as(&packet, VIRTIO_NETIF_BYPASS);
    assert_int_equal(bypass.bytes, packet_bytes(&plain));
    assert_memory_equal(bypass.frame, packet_start(&plain), sizeof(bypass.frame));
    bypass.takes = false;
    packet = udp(4, CLOSED_PORT, 60);
    receive_as(&packet, VIRTIO_NETIF_UDP_NO_RECEIVER);
    stack.interface.bypass = NULL;
}

/* While few blocks are free, frames are copied, and dropped if the memory for copies is full. */
static void copied_frames(void **state)
{
    struct packet packet = arp_request();
    uint64_t copied = stack.interface.copied;

    (void)state;
    stack.interface.reserved = stack.interface.blocks_count;
    receive_as(&packet, VIRTIO_NETIF_ARP);
    packet = udp(4, CLOSED_PORT, 20);
    packet_tag(&packet, PRIORITY);
    receive_as(&packet, VIRTIO_NETIF_UDP_NO_RECEIVER);
    assert_int_equal(stack.interface.copied, copied + 2);
    stack.interface.copies_bytes += 1u << 30;
    receive_as(&packet, VIRTIO_NETIF_NO_MEMORY);
    stack.interface.copies_bytes -= 1u << 30;
    stack.interface.reserved = 0;
}

static void too_long_frames(void **state)
{
    uint8_t data[BLOCK - 200] = {0};
    struct virtio_net_buffer *first = NULL;
    uint32_t free_blocks = stack.interface.blocks_free;

    (void)state;
    for (unsigned i = 0; i <= UINT16_MAX / sizeof(data); i++) {
        struct virtio_net_buffer *buffer = stack_buffer(data, sizeof(data));

        buffer->rest = first;
        first = buffer;
    }
    receive_deliver(&stack.interface, first);
    became(VIRTIO_NETIF_TOO_LONG, 1);
    compare();
    assert_int_equal(stack.interface.blocks_free, free_blocks);
}

/* A frame of another VLAN in several blocks: all of them are free again. */
static void foreign_frames_in_blocks(void **state)
{
    struct packet packet = udp(4, PORT, 1000);
    uint32_t free_blocks = stack.interface.blocks_free;

    (void)state;
    packet_tag(&packet, 7);
    receive_partial(&packet, 46, 500);
    became(VIRTIO_NETIF_VLAN, 1);
    compare();
    assert_int_equal(stack.interface.blocks_free, free_blocks);
}

/* lwIP's counters have 32 bits. */
static void more_frames_than_lwip_can_count(void **state)
{
    const uint32_t many = UINT32_MAX - 10;
    struct packet packet = arp_request();

    (void)state;
    for (unsigned i = 0; i < 3; i++) { /* once a second, or when the counts are read */
        lwip_stats.etharp.recv += many;
        stack.interface.passed += many;
        received_add_up();
        became(VIRTIO_NETIF_ARP, many);
    }
    for (unsigned i = 0; i < 32; i++) {
        receive_as(&packet, VIRTIO_NETIF_ARP);
    }
}

/* Nothing is left: each block is free, whatever became of its frame. */
static int all_blocks_are_free(void **state)
{
    (void)state;
    return stack.interface.blocks_free == stack.interface.blocks_count &&
                   stack.interface.copies_bytes == 0
               ? 0
               : -1;
}

static int start(void **state)
{
    (void)state;
    stack_start(96);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ethernet, all_blocks_are_free),
        cmocka_unit_test_teardown(ipv4, all_blocks_are_free),
        cmocka_unit_test_teardown(ipv6, all_blocks_are_free),
        cmocka_unit_test_teardown(icmp, all_blocks_are_free),
        cmocka_unit_test_teardown(icmpv6, all_blocks_are_free),
        cmocka_unit_test_teardown(datagrams, all_blocks_are_free),
        cmocka_unit_test_teardown(unread_datagrams, all_blocks_are_free),
        cmocka_unit_test_teardown(fragments, all_blocks_are_free),
        cmocka_unit_test_teardown(vlan_tags, all_blocks_are_free),
        cmocka_unit_test_teardown(partial_checksums, all_blocks_are_free),
        cmocka_unit_test_teardown(partial_checksum_behind_options, all_blocks_are_free),
        cmocka_unit_test_teardown(damaged_segments, all_blocks_are_free),
        cmocka_unit_test_teardown(joined_segments, all_blocks_are_free),
        cmocka_unit_test_teardown(repeated_segments, all_blocks_are_free),
        cmocka_unit_test_teardown(bypassed_frames, all_blocks_are_free),
        cmocka_unit_test_teardown(copied_frames, all_blocks_are_free),
        cmocka_unit_test_teardown(too_long_frames, all_blocks_are_free),
        cmocka_unit_test_teardown(foreign_frames_in_blocks, all_blocks_are_free),
        cmocka_unit_test_teardown(more_frames_than_lwip_can_count, all_blocks_are_free),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
