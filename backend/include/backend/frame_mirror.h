/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mirror of the ports of a switch: a ring of copies of frames in the program's memory, which a
 * tool outside reads while the program runs, as it reads reports (kernel/report.h, REPORT_MIRROR).
 * `./bulkhead capture` is that tool.
 *
 * The mirror is off until a tool writes a request: which ports, and how much of each frame. It is
 * off again FRAME_MIRROR_SILENCE after the tool has last changed `beat`, so a tool that was killed
 * leaves nothing behind. While it is off, a frame costs one test of a bit.
 *
 * Writing. The ring has slots of one size. A frame takes as many as it needs, one behind the other.
 * A slot is overwritten without regard to the tool: a frame never waits. Slots are numbered from 1.
 * `number` of a slot is 0 while it is being written, and is stored last; so a tool that finds the
 * same number before and after it has copied a slot has a whole one, and gaps in the numbers are
 * slots that it has missed.
 *
 * All numbers are little-endian. Only the program and the tool write the ring: no client can. The
 * tool does not trust the numbers in it, and the program none but those of the request.
 *
 * Times are nanoseconds, as the caller's. The caller serialises all calls. Any context.
 */
#ifndef BACKEND_FRAME_MIRROR_H
#define BACKEND_FRAME_MIRROR_H

#include "virtio/device_net.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MIRROR_VERSION       1u
#define FRAME_MIRROR_SLOT_BYTES    2048u
#define FRAME_MIRROR_HEADER_BYTES  40u /* of a slot */
#define FRAME_MIRROR_CONTENT_BYTES (FRAME_MIRROR_SLOT_BYTES - FRAME_MIRROR_HEADER_BYTES)
#define FRAME_MIRROR_SLOTS_MAX     65536u
#define FRAME_MIRROR_SILENCE       UINT64_C(2000000000)

enum frame_mirror_direction {
    FRAME_MIRROR_RECEIVED, /* by the switch, from the port; also if the switch drops the frame */
    FRAME_MIRROR_SENT,     /* by the switch, to the port */
};

struct frame_mirror_slot {
    uint64_t number;
    uint64_t time;
    uint32_t frame_bytes; /* length of the frame */
    uint32_t kept_bytes;  /* of the frame, in all of its slots together */
    uint32_t offset;      /* place of this part in the frame */
    uint32_t bytes;       /* of this part */
    uint32_t port;
    uint32_t direction; /* enum frame_mirror_direction */
    uint8_t content[FRAME_MIRROR_CONTENT_BYTES];
};

struct frame_mirror_ring {
    /* Written by the program: */
    uint64_t life;    /* a random number, another one in each life of the program */
    uint64_t written; /* number of the last slot that was written; 0: none */
    uint32_t slot_count;
    uint32_t slot_bytes; /* sizeof(struct frame_mirror_slot) */
    uint64_t reserved_1[5];
    /* Written by a tool: */
    uint64_t beat;        /* changes as long as the tool reads */
    uint32_t ports;       /* a bit a port */
    uint32_t bytes_limit; /* of a frame that is kept */
    uint64_t reserved_2[6];
    struct frame_mirror_slot slots[];
};

/* Private to network/, and visible so that a network can embed it. */
struct frame_mirror {
    struct frame_mirror_ring *ring; /* NULL: there is no mirror */
    uint64_t written;
    uint64_t beat;
    uint64_t changed; /* time at which the beat has changed */
    uint32_t slot_count;
    uint32_t ports; /* that are mirrored now */
    uint32_t bytes_limit;
};

/* Makes a mirror of `memory`, aligned to 8 bytes, which outlives it. `life`: a random number. Fewer
 * bytes than one slot needs make no mirror: returns false. */
bool frame_mirror_init(struct frame_mirror *mirror, void *memory, size_t bytes, uint64_t life);

/* Follows the request of the tool. */
void frame_mirror_follow(struct frame_mirror *mirror, uint64_t now);

static inline bool frame_mirror_has_port(const struct frame_mirror *mirror, unsigned port)
{
    return __builtin_expect((mirror->ports >> port & 1) != 0, 0);
}

/* Writes a copy of a frame, or of its first `bytes_limit` bytes. frame_mirror_has_port() has
 * returned true. */
void frame_mirror_write(struct frame_mirror *mirror, unsigned port,
                        enum frame_mirror_direction direction, const struct device_net_frame *frame,
                        uint64_t now);

#endif
