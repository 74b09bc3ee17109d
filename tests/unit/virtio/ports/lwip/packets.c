/* SPDX-License-Identifier: BSD-2-Clause */
/* See packets.h. Field offsets: RFC 826, 4861, 791, 8200, 768, 9293, 792, 4443, and IEEE 802.1Q. */
#include "packets.h"
#include "lwip_stack.h"
#include "network_order.h"
#include <string.h>

static const uint8_t peer_mac[6] = {0x02, 0, 0, 0, 0, 1};

const uint8_t packet_address4[2][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}};

/* The interface's address is made of its MAC address (RFC 4291, 2.5.1). */
uint8_t packet_address6[2][16] = {
    {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 2},
};

static uint32_t sum_of(const uint8_t *bytes, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
    }
    return sum;
}

static uint16_t checksum(uint32_t sum)
{
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static uint16_t transport_checksum(struct packet *packet, unsigned version, uint8_t protocol)
{
    const uint8_t *addresses = version == 4 ? packet_address4[0] : packet_address6[0];
    uint32_t bytes = (uint32_t)packet_bytes(packet);

    return checksum(sum_of(addresses, version == 4 ? 8 : 32) + protocol + bytes +
                    sum_of(packet_start(packet), bytes));
}

uint8_t *packet_start(struct packet *packet)
{
    return packet->memory + packet->unused;
}

size_t packet_bytes(const struct packet *packet)
{
    return PACKET_MAX - packet->unused;
}

void packet_data(struct packet *packet, size_t bytes)
{
    packet->unused = PACKET_MAX - bytes;
    for (size_t i = 0; i < bytes; i++) {
        packet_start(packet)[i] = (uint8_t)i;
    }
}

void packet_add(struct packet *packet, const void *header, size_t bytes)
{
    packet->unused -= bytes;
    memcpy(packet_start(packet), header, bytes);
}

void packet_udp(struct packet *packet, unsigned version, uint16_t port)
{
    uint8_t header[8] = {0};

    put16(header, 5000);
    put16(header + 2, port);
    put16(header + 4, (uint32_t)packet_bytes(packet) + 8);
    packet_add(packet, header, sizeof(header));
    put16(packet_start(packet) + 6, transport_checksum(packet, version, 17));
}

void packet_tcp(struct packet *packet, unsigned version, uint16_t peer_port, uint16_t port,
                uint32_t sequence, uint32_t acknowledged, unsigned flags)
{
    uint8_t header[20] = {0};

    put16(header, peer_port);
    put16(header + 2, port);
    put32(header + 4, sequence);
    put32(header + 8, acknowledged);
    header[12] = 5 << 4;
    header[13] = (uint8_t)flags;
    put16(header + 14, 8000);
    packet_add(packet, header, sizeof(header));
    put16(packet_start(packet) + 16, transport_checksum(packet, version, 6));
}

static void seal_tcp(struct packet *packet, unsigned version)
{
    put16(packet_start(packet) + 16, 0);
    put16(packet_start(packet) + 16, transport_checksum(packet, version, 6));
}

void packet_tcp_window(struct packet *packet, unsigned version, uint16_t window)
{
    put16(packet_start(packet) + 14, window);
    seal_tcp(packet, version);
}

void packet_tcp_options(struct packet *packet, unsigned version, unsigned words)
{
    packet_start(packet)[12] = (uint8_t)((5 + words) << 4);
    seal_tcp(packet, version);
}

void packet_arp(struct packet *packet)
{
    uint8_t request[28] = {0, 1, 8, 0, 6, 4, 0, 1};

    memcpy(request + 8, peer_mac, sizeof(peer_mac));
    memcpy(request + 14, packet_address4[0], 4);
    memcpy(request + 24, packet_address4[1], 4);
    packet_data(packet, 0);
    packet_add(packet, request, sizeof(request));
}

void packet_advertisement(struct packet *packet)
{
    uint8_t header[24] = {136, 0, 0, 0, 0x60}; /* solicited, overrides */
    uint8_t option[8] = {2, 1};                /* the target's link-layer address */

    memcpy(header + 8, packet_address6[0], 16);
    memcpy(option + 2, peer_mac, sizeof(peer_mac));
    packet_data(packet, 0);
    packet_add(packet, option, sizeof(option));
    packet_add(packet, header, sizeof(header));
    put16(packet_start(packet) + 2, transport_checksum(packet, 6, 58));
}

void packet_echo(struct packet *packet, unsigned version)
{
    uint8_t header[8] = {version == 4 ? 8 : 128};
    uint32_t sum;

    packet_add(packet, header, sizeof(header));
    sum = sum_of(packet_start(packet), packet_bytes(packet));
    put16(packet_start(packet) + 2,
          version == 4 ? checksum(sum) : transport_checksum(packet, 6, 58));
}

void packet_seal_ip4(uint8_t *ip)
{
    put16(ip + 10, 0);
    put16(ip + 10, checksum(sum_of(ip, 20)));
}

void packet_ip4(struct packet *packet, uint8_t protocol)
{
    uint8_t header[20] = {0x45};

    put16(header + 2, (uint32_t)packet_bytes(packet) + 20);
    header[8] = 64;
    header[9] = protocol;
    memcpy(header + 12, packet_address4, sizeof(packet_address4));
    packet_seal_ip4(header);
    packet_add(packet, header, sizeof(header));
}

void packet_ip6(struct packet *packet, uint8_t next)
{
    uint8_t header[40] = {0x60};

    put16(header + 4, (uint32_t)packet_bytes(packet));
    header[6] = next;
    header[7] = 255;
    memcpy(header + 8, packet_address6, sizeof(packet_address6));
    packet_add(packet, header, sizeof(header));
}

void packet_ethernet(struct packet *packet, uint16_t type)
{
    uint8_t header[14];

    memcpy(header, stack_mac, 6);
    memcpy(header + 6, peer_mac, 6);
    put16(header + 12, type);
    packet_add(packet, header, sizeof(header));
}

void packet_tag(struct packet *packet, uint16_t control)
{
    packet->unused -= 4;
    memmove(packet_start(packet), packet_start(packet) + 4, 12);
    put16(packet_start(packet) + 12, 0x8100);
    put16(packet_start(packet) + 14, control);
}
