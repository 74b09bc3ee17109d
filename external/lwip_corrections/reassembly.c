/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP has no counter of the packets that it made of fragments, except among many others on the
 * path of every packet (MIB2_STATS). So these two functions count them, and only fragments pay for
 * it. ip4.c and ip6.c are compiled with these names in the place of lwIP's.
 */
#include "lwip/ip4_frag.h"
#include "lwip/ip6_frag.h"
#include "received_counts.h"

struct pbuf *ip4_reass_counted(struct pbuf *fragment);
struct pbuf *ip6_reass_counted(struct pbuf *fragment);

static struct pbuf *count(struct pbuf *packet)
{
    if (packet != NULL) {
        received_counts.reassembled++;
    }
    return packet;
}

struct pbuf *ip4_reass_counted(struct pbuf *fragment)
{
    return count(ip4_reass(fragment));
}

struct pbuf *ip6_reass_counted(struct pbuf *fragment)
{
    return count(ip6_reass(fragment));
}
