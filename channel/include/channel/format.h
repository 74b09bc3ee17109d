/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a channel, as both sides see it. It has two sections, one for each side. Only that
 * side writes to its section; the other can read it. A section is a control page and the ring, or
 * the slots, of the direction in which its side sends. In a one-way channel only the sending side
 * has a section. All words are little-endian.
 *
 * A guest finds the sections after the state table of ivshmem-v2 (Jailhouse, "IVSHMEM Device
 * Specification", Shared Memory Region), as its output sections. That table has a word of 32 bits
 * for each side, which the hypervisor sets to 0 when the side's partition stops.
 */
#ifndef CHANNEL_FORMAT_H
#define CHANNEL_FORMAT_H

#include <stdint.h>

#define CHANNEL_CONTROL_BYTES UINT64_C(4096) /* the ring follows */
#define CHANNEL_RING_MIN      UINT64_C(4096)
#define CHANNEL_RING_MAX      (UINT64_C(1) << 30)

/* Names the format and its version; the low byte is the kind. */
#define CHANNEL_FORMAT           UINT64_C(0x42434802000000) /* "BCH", version 2 */
#define CHANNEL_FORMAT_MESSAGES  (CHANNEL_FORMAT | 1)
#define CHANNEL_FORMAT_VALUE     (CHANNEL_FORMAT | 2)
#define CHANNEL_FORMAT_BROADCAST (CHANNEL_FORMAT | 3)

/* Bits of the word `waits`. */
#define CHANNEL_WAITS_FOR_MESSAGE UINT64_C(1)
#define CHANNEL_WAITS_FOR_SPACE   UINT64_C(2)

/* Groups of words that different sides load and store at different times, in cache lines of their
 * own. 128 bytes, because processors prefetch pairs of lines. */
#define CHANNEL_GROUP_BYTES 128

/* The control page: the section's side is its only writer. */
struct channel_control {
    /* The connection (connection.h). */
    _Alignas(CHANNEL_GROUP_BYTES) uint64_t format;
    uint64_t ring_bytes;
    uint64_t generation;   /* number of the side's present life; 0: none yet */
    uint64_t acknowledged; /* generation of the peer with which the side is connected; 0: none */
    uint64_t start;        /* where the side's messages to that generation begin */
    uint64_t connected; /* the same generation, once it has acknowledged the side's; 0: not yet */

    /* What the side produces. Positions are bytes since the first use of the channel. */
    _Alignas(CHANNEL_GROUP_BYTES) uint64_t produced; /* messages before it are complete */
    uint64_t overwritten; /* broadcast.h: bytes before it may be overwritten at any time */
    uint64_t last;        /* broadcast.h: where the newest message begins */
    uint64_t latest;      /* value.h: the pair with the newest value, 0 or 1 */
    uint64_t newest[2];   /* value.h: the newest slot of each pair, 0 or 1 */

    /* How far the side has read the other's section. */
    _Alignas(CHANNEL_GROUP_BYTES) uint64_t consumed; /* messages before it are released */
    uint64_t reading; /* value.h: the pair from which it reads, 0 or 1 */

    /* What the side waits for, so that the other notifies it. */
    _Alignas(CHANNEL_GROUP_BYTES) uint64_t waits;

    /* For observers: since the side's first life. The peer does not read them. */
    _Alignas(CHANNEL_GROUP_BYTES) uint64_t sent;
    uint64_t received;
    uint64_t notifications; /* to the peer */
    uint64_t sleeps;
    uint64_t errors;
};

_Static_assert(sizeof(struct channel_control) <= CHANNEL_CONTROL_BYTES, "one page");

/* A message in a ring begins at a multiple of 8 bytes with this header. Header and content are
 * consecutive: what does not fit before the end of the ring begins at its start. */
struct channel_message {
    uint64_t header; /* bits 31:0 the content's bytes, 63:32 the tag; or a run; or CHANNEL_SKIP */
    uint8_t content[];
};

/* A run: several messages of one size with one header and one tag. Their contents are consecutive,
 * each at a multiple of 8 bytes. Its header has bit 31 set; bits 30:20 are the number of messages,
 * 1 to CHANNEL_RUN_COUNT_MAX; bits 19:0 are the bytes of each, 1 to CHANNEL_RUN_LENGTH_MAX; bits
 * 63:32 are the tag of all. */
#define CHANNEL_RUN             (UINT64_C(1) << 31)
#define CHANNEL_RUN_COUNT_SHIFT 20u
#define CHANNEL_RUN_COUNT_MAX   UINT64_C(2046)
#define CHANNEL_RUN_LENGTH_MAX  UINT64_C(0xfffff)

#define CHANNEL_ALIGNMENT UINT64_C(8)

/* Bits of a position from which a life goes on. A malicious life may leave others in its section:
 * positions are multiples of the alignment, and far enough from the largest one not to wrap. */
#define CHANNEL_POSITION_BITS (UINT64_MAX >> 1 & ~(CHANNEL_ALIGNMENT - 1))

#define CHANNEL_SKIP UINT64_C(0xffffffff) /* the rest of the ring, to its end, is unused */

/* Returns a place of a ring, a multiple of 8 bytes, as the word that is there. */
static inline uint64_t *channel_word(uint8_t *place)
{
    void *word = place;

    return word;
}

static inline const uint64_t *channel_constant_word(const uint8_t *place)
{
    const void *word = place;

    return word;
}

/* The largest message of a ring: it always fits into an empty one, whatever the position. */
static inline uint64_t channel_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 2 - sizeof(struct channel_message);
}

#endif
