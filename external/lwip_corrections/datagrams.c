/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's UDP with one more group of counters. lwIP drops a broadcast that no program waits for
 * without a count. It has a counter of the datagrams that had a receiver (RFC 4113,
 * udpInDatagrams), but only together with all other counters of MIB2_STATS, which would cost
 * instructions on the path of every packet. Here the counters of this file alone are switched on.
 *
 * Compiled with lwIP's arguments; the include path has the folder of udp.c.
 */
#include "received_counts.h"

#undef MIB2_STATS_INC
#define MIB2_STATS_INC(counter) ++received_counts.counter

#include "udp.c"
