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

#include "channel/linkage.h"
#include <stdbool.h>
#include <stdint.h>

CHANNEL_C_BEGIN

#define CHANNEL_CONTROL_BYTES UINT64_C(4096) /* the ring follows */
#define CHANNEL_RING_MIN      UINT64_C(4096)
#define CHANNEL_RING_MAX      (UINT64_C(1) << 30)

/* Values of the word `format`: the format, its version, and in the low byte the kind of channel. */
#define CHANNEL_FORMAT           UINT64_C(0x42434802000000) /* "BCH", version 2 */
#define CHANNEL_FORMAT_MESSAGES  (CHANNEL_FORMAT | 1)
#define CHANNEL_FORMAT_VALUE     (CHANNEL_FORMAT | 2)
#define CHANNEL_FORMAT_BROADCAST (CHANNEL_FORMAT | 3)

/* Bits of the word `waits`. */
#define CHANNEL_WAITS_FOR_MESSAGE UINT64_C(1)
#define CHANNEL_WAITS_FOR_SPACE   UINT64_C(2)

/* Alignment of groups of words that different sides load and store at different times. Each group
 * has cache lines of its own. 128 bytes, because processors prefetch pairs of lines of 64 bytes. */
#define CHANNEL_GROUP_BYTES 128
#define CHANNEL_GROUP       __attribute__((aligned(CHANNEL_GROUP_BYTES)))

/* The control page: the section's side is its only writer. */
struct channel_control {
    /* The connection (connection.h). */
    CHANNEL_GROUP uint64_t format;
    uint64_t ring_bytes;
    uint64_t generation; /* number of the side's present life; 0: none yet */
    /* Generation of the peer's life that the side has acknowledged; 0: none. */
    uint64_t acknowledged;
    uint64_t start; /* position of the side's first message to that life */
    /* Generation of the peer's life that has acknowledged the side's present life, too; 0: none. */
    uint64_t connected;
    /* Generation of the peer with which the side's present life does not connect, because it
     * violated the format; 0: none. */
    uint64_t refused;

    /* The side as producer. Positions are bytes since the first use of the channel. */
    CHANNEL_GROUP uint64_t produced; /* messages before it are complete */
    uint64_t overwritten; /* broadcast.h: bytes before it may be overwritten at any time */
    uint64_t last;        /* broadcast.h: position of the newest message */
    uint64_t latest;      /* value.h: the pair with the newest value, 0 or 1 */
    uint64_t newest[2];   /* value.h: the newest slot of each pair, 0 or 1 */

    /* The side as consumer of the other side's section. */
    CHANNEL_GROUP uint64_t consumed; /* messages before it are released */
    uint64_t reading;                /* value.h: the pair from which it reads, 0 or 1 */

    /* CHANNEL_WAITS_FOR_*: the event for which the side waits. The other side notifies it then. */
    CHANNEL_GROUP uint64_t waits;
    /* The part of `waits` that lasts when a call of wait.h ends: an event loop of the side sleeps
     * until then. The peer does not read it. */
    uint64_t armed;

    /* Counters for observers, since the side's first life. The peer does not read them. */
    CHANNEL_GROUP uint64_t sent;
    uint64_t received;
    uint64_t notifications; /* notifications of the peer */
    uint64_t sleeps;
    uint64_t errors;
};

/* A message in a ring begins at a multiple of 8 bytes with this header, and its content follows.
 * Header and content are consecutive: a message that does not fit before the end of the ring begins
 * at the start of the ring. */
struct channel_message {
    uint64_t header; /* bits 31:0: bytes of the content, 63:32: tag; or a run; or CHANNEL_SKIP */
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

/* Bits of a position that a life takes over from an earlier one: a multiple of the alignment. A
 * malicious life may leave any value in its section, so positions may wrap. They are compared by
 * their distances. */
#define CHANNEL_POSITION_BITS (~(CHANNEL_ALIGNMENT - 1))

/* Returns true if a position is after another one, from which it is less than 2^63 bytes away. */
static inline bool channel_is_after(uint64_t position, uint64_t other)
{
    return position != other && position - other <= UINT64_MAX / 2;
}

#define CHANNEL_SKIP UINT64_C(0xffffffff) /* header: the ring is unused from here to its end */

/* Returns the word at a place of a ring, which is a multiple of 8 bytes. */
static inline uint64_t *channel_word(uint8_t *place)
{
    void *word = place;

    return (uint64_t *)word;
}

static inline const uint64_t *channel_constant_word(const uint8_t *place)
{
    const void *word = place;

    return (const uint64_t *)word;
}

/* Returns the number of bytes of the largest message. It fits into an empty ring at any
 * position. */
static inline uint64_t channel_content_max(uint64_t ring_bytes)
{
    return ring_bytes / 2 - sizeof(struct channel_message);
}

CHANNEL_C_END

#endif
