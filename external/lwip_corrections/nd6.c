/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP 2.1.3 accepts any MTU in a Packet Too Big message. With a very small one it divides packets
 * into fragments or segments of no bytes, without end. Every path has an MTU of at least 1280 bytes
 * (RFC 8200, 5), and a message with a smaller one is to be ignored (RFC 8201, 4). lwIP's own
 * function is compiled under another name.
 */
#include "lwip/nd6.h"
#include "lwip/prot/ip6.h"

u16_t nd6_destination_mtu_as_told(const ip6_addr_t *ip6addr, struct netif *netif);

u16_t nd6_get_destination_mtu(const ip6_addr_t *ip6addr, struct netif *netif)
{
    u16_t told = nd6_destination_mtu_as_told(ip6addr, netif);

    return told < IP6_MIN_MTU_LENGTH ? IP6_MIN_MTU_LENGTH : told;
}
