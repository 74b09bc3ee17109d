/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes frames from a peer, 10.0.0.1 and fe80::1, to the interface of lwip_stack.h. A frame is made
 * from its end: first the data, then each header in front of it. The headers are correct; a test
 * damages them afterwards.
 */
#ifndef TESTS_LWIP_PACKETS_H
#define TESTS_LWIP_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#define PACKET_MAX 4096u

struct packet {
    uint8_t memory[PACKET_MAX];
    size_t unused; /* in front of what has been made so far, which ends where `memory` ends */
};

enum { PACKET_FIN = 0x01, PACKET_SYN = 0x02, PACKET_RST = 0x04, PACKET_ACK = 0x10 };

extern const uint8_t packet_address4[2][4]; /* of the peer, of the interface */
extern uint8_t packet_address6[2][16];      /* the same; a test may use others */

/* Returns the beginning of what has been made so far. */
uint8_t *packet_start(struct packet *packet);
size_t packet_bytes(const struct packet *packet);

/* Begins a packet with `bytes` of data, which count up from 0. */
void packet_data(struct packet *packet, size_t bytes);
void packet_add(struct packet *packet, const void *header, size_t bytes);

/* `version`: 4 or 6, of the header that will stand in front, for the checksum. */
void packet_udp(struct packet *packet, unsigned version, uint16_t port);
void packet_tcp(struct packet *packet, unsigned version, uint16_t peer_port, uint16_t port,
                uint32_t sequence, uint32_t acknowledged, unsigned flags);
/* Change a TCP header, which is the first one so far: the window; the number of words of options,
 * with which the data begin. */
void packet_tcp_window(struct packet *packet, unsigned version, uint16_t window);
void packet_tcp_options(struct packet *packet, unsigned version, unsigned words);
/* Begins a request for the interface's MAC address, which tells it that of the peer (RFC 826). */
void packet_arp(struct packet *packet);
/* Begins an advertisement of the peer's MAC address, which answers a solicitation (RFC 4861, 4.4).
 */
void packet_advertisement(struct packet *packet);
void packet_echo(struct packet *packet, unsigned version);
void packet_ip4(struct packet *packet, uint8_t protocol);
void packet_ip6(struct packet *packet, uint8_t next);
void packet_ethernet(struct packet *packet, uint16_t type);
/* Adds a VLAN tag behind the addresses of a frame. */
void packet_tag(struct packet *packet, uint16_t control);
/* Writes the checksum of a changed IPv4 header, which begins at `ip`. */
void packet_seal_ip4(uint8_t *ip);

#endif
