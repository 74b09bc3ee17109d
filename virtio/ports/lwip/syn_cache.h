/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A SYN cache (RFC 4987, 3.5). It stores the state of half-open connections whose control blocks
 * were freed for other connections, so that they can still be opened when the third segment of the
 * handshake arrives. An entry is found by the connection and by the sequence number that the peer
 * acknowledges. When the cache is full, a new entry replaces the oldest. Core lock held.
 */
#ifndef NET_SYN_CACHE_H
#define NET_SYN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum number of clients that wait for a control block. */
#define SYN_CACHE_ENTRIES 128u

struct syn_cache_entry {
    uint64_t connection;    /* keyed hash of addresses and ports */
    uint32_t own_sequence;  /* sequence number of the SYN-ACK that was sent */
    uint32_t peer_sequence; /* sequence number of the peer's SYN */
    uint16_t segment_bytes; /* maximum size of segments to the peer (MSS) */
    uint8_t scale;          /* shift count of the peer's windows (RFC 7323, 2) */
    bool scaled;            /* the peer offered to scale windows */
    bool sack;              /* the peer permits selective acknowledgements (RFC 2018) */
};

/* Keeps a copy of `entry`. */
void syn_cache_add(const struct syn_cache_entry *entry);

/* Finds the entry of `connection` with `own_sequence`, copies it to *entry, and removes it. Returns
 * false if there is none. */
bool syn_cache_take(uint64_t connection, uint32_t own_sequence, struct syn_cache_entry *entry);

#endif
