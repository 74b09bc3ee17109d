/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of received packets that lwIP does not count (lwip/stats.h). The functions that stand
 * between lwIP and the frames count them: receive.c, tcp_guard.c and external/lwip_corrections/.
 * received.c computes the fates of the frames from them. Core lock held.
 */
#ifndef NET_RECEIVED_COUNTS_H
#define NET_RECEIVED_COUNTS_H

#include "lwip/stats.h"
#include <stdint.h>

struct received_counts {
    /* Frames beyond the first in packets that were joined (coalesce.h): */
    uint64_t joined;               /* all */
    uint64_t joined_segments;      /* of packets that reached TCP */
    uint64_t joined_no_connection; /* of packets that TCP dropped because they have no connection */
    uint64_t joined_refused;       /* of packets that TCP dropped for another cause */
    /* Segments: */
    uint64_t segments_repeated; /* passed to TCP without having been received just then */
    uint64_t segments_refused;  /* dropped by tcp_guard.c */
    /* Packets that IP made of fragments: */
    uint64_t reassembled;
    /* Datagrams dropped because the program's mailbox is full, or no memory is free for it: */
    uint64_t datagrams_unread;
    /* Only mib2.udpindatagrams is used, the number of datagrams that had a receiver (RFC 4113,
     * udpInDatagrams). */
    struct stats_mib2 mib2;
};

extern struct received_counts received_counts;

#endif
