/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A SYN cache (RFC 4987, 3.5): what has to be kept of a half-open connection whose control block
 * was freed for another one, so that the connection opens all the same when the handshake's third
 * segment comes. Entries are found by the connection and by the sequence number that the peer
 * acknowledges. The oldest entry is replaced when the cache is full. Core lock held.
 */
#ifndef NET_SYN_CACHE_H
#define NET_SYN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

/* How many clients can wait for a control block at once. */
#define SYN_CACHE_ENTRIES 128u

struct syn_cache_entry {
    uint64_t connection;    /* keyed hash of addresses and ports */
    uint32_t own_sequence;  /* of the SYN-ACK that was sent */
    uint32_t peer_sequence; /* of the peer's SYN */
    uint16_t segment_bytes; /* the most that may be sent to the peer at once (MSS) */
    uint8_t scale;          /* of the windows that the peer announces (RFC 7323, 2) */
    bool scaled;            /* the peer offered to scale windows */
    bool sack;              /* the peer permits selective acknowledgements (RFC 2018) */
};

/* Keeps a copy of `entry`. */
void syn_cache_add(const struct syn_cache_entry *entry);

/* Finds the entry of `connection` with `own_sequence`, copies it to *entry, and removes it. Returns
 * false if there is none. */
bool syn_cache_take(uint64_t connection, uint32_t own_sequence, struct syn_cache_entry *entry);

#endif
