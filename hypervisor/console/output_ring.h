/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of output bytes that wait for room in the board's PL011. A writer is a partition, the
 * hypervisor with its messages about one partition, or the hypervisor with its other messages. Each
 * writer is limited to a quota of the ring, so that it can't use up the room of another. The caller
 * holds the terminal's lock.
 */
#ifndef CONSOLE_OUTPUT_RING_H
#define CONSOLE_OUTPUT_RING_H

#include "hypervisor/description.h"
#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_RING_BYTES 16384u /* a power of two */

/* Number of a writer: the index of a partition, OUTPUT_RING_MESSAGES + this index for the
 * hypervisor's messages about it, or OUTPUT_RING_HYPERVISOR. */
#define OUTPUT_RING_MESSAGES   DESCRIPTION_PARTITIONS_MAX
#define OUTPUT_RING_HYPERVISOR (2u * DESCRIPTION_PARTITIONS_MAX)
#define OUTPUT_RING_WRITERS    (OUTPUT_RING_HYPERVISOR + 1u)

/* All zero: the empty ring. */
struct output_ring {
    /* Numbers of bytes removed and added since boot, modulo 2^32. Their difference is the number of
     * bytes in the ring. */
    uint32_t removed, added;
    /* Upper bound of each writer's bytes in the ring. Once `removed` reaches last_end[], none of
     * the writer's bytes are in the ring. */
    uint32_t unsent[OUTPUT_RING_WRITERS];
    uint32_t last_end[OUTPUT_RING_WRITERS]; /* value of `added` after the writer's last byte */
    char bytes[OUTPUT_RING_BYTES];
};

/* Returns the number of bytes in the ring. */
static inline uint32_t output_ring_length(const struct output_ring *ring)
{
    return ring->added - ring->removed;
}

/* Adds a byte at the end. Returns false if the ring is full. Inline, because messages are added
 * byte by byte. Also with the MMU off. */
static inline bool output_ring_add(struct output_ring *ring, char byte)
{
    if (output_ring_length(ring) == OUTPUT_RING_BYTES) {
        return false;
    }
    ring->bytes[ring->added % OUTPUT_RING_BYTES] = byte;
    ring->added++;
    return true;
}

/* Adds as many bytes at the end as the ring has room for. Only with the MMU on, because memcpy()
 * makes unaligned accesses. */
void output_ring_add_bytes(struct output_ring *ring, const char *bytes, uint32_t count);

/* Returns the byte with this number. `number`: at least ring->removed, below ring->added. */
static inline uint8_t output_ring_byte(const struct output_ring *ring, uint32_t number)
{
    return (uint8_t)ring->bytes[number % OUTPUT_RING_BYTES];
}

/* Removes the oldest bytes of a ring that has as many. */
static inline void output_ring_remove(struct output_ring *ring, uint32_t count)
{
    ring->removed += count;
}

/* Discards all bytes. */
void output_ring_clear(struct output_ring *ring);

/* Returns true if the writer can add `bytes` more bytes without exceeding `quota`, which is at
 * least `bytes`. */
bool output_ring_has_room(struct output_ring *ring, uint32_t writer, uint32_t quota,
                          uint32_t bytes);

/* Charges the writer for all bytes that were added since ring->added was `start`. */
void output_ring_charge(struct output_ring *ring, uint32_t writer, uint32_t start);

#endif
