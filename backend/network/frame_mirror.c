/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/frame_mirror.h"

#include <string.h>

_Static_assert(sizeof(struct frame_mirror_slot) == FRAME_MIRROR_SLOT_BYTES, "no gaps");
_Static_assert(offsetof(struct frame_mirror_slot, content) == FRAME_MIRROR_HEADER_BYTES, "no gaps");
_Static_assert(offsetof(struct frame_mirror_ring, beat) == 64, "the tool has a line of its own");

/* How far a frame was copied. */
struct place {
    const struct device_segment *segment;
    uint32_t done; /* bytes of it */
};

bool frame_mirror_init(struct frame_mirror *mirror, void *memory, size_t bytes, uint64_t life)
{
    struct frame_mirror_ring *ring = memory;
    size_t slots;

    memset(mirror, 0, sizeof(*mirror));
    if (bytes < sizeof(*ring) + sizeof(struct frame_mirror_slot)) {
        return false;
    }
    slots = (bytes - sizeof(*ring)) / sizeof(struct frame_mirror_slot);
    slots = slots < FRAME_MIRROR_SLOTS_MAX ? slots : FRAME_MIRROR_SLOTS_MAX;
    memset(ring, 0, sizeof(*ring) + slots * sizeof(struct frame_mirror_slot));
    ring->life = life;
    ring->slot_count = (uint32_t)slots;
    ring->slot_bytes = sizeof(struct frame_mirror_slot);
    mirror->ring = ring;
    mirror->slot_count = (uint32_t)slots;
    return true;
}

static void accept_request(struct frame_mirror *mirror)
{
    uint32_t limit = __atomic_load_n(&mirror->ring->bytes_limit, __ATOMIC_RELAXED);

    mirror->ports = __atomic_load_n(&mirror->ring->ports, __ATOMIC_RELAXED);
    mirror->bytes_limit = limit != 0 ? limit : UINT32_MAX;
}

void frame_mirror_follow(struct frame_mirror *mirror, uint64_t now)
{
    uint64_t beat;

    if (mirror->ring == NULL) {
        return;
    }
    beat = __atomic_load_n(&mirror->ring->beat, __ATOMIC_ACQUIRE);
    if (beat != mirror->beat) {
        mirror->beat = beat;
        mirror->changed = now;
        accept_request(mirror);
    } else if (mirror->ports != 0 && now - mirror->changed >= FRAME_MIRROR_SILENCE) {
        mirror->ports = 0;
    }
}

/* Copies the next part of the frame, which has as many bytes. */
static void copy_part(uint8_t *to, uint32_t bytes, struct place *place)
{
    while (bytes != 0) {
        uint32_t rest = place->segment->bytes - place->done;
        uint32_t part = rest < bytes ? rest : bytes;

        memcpy(to, place->segment->memory + place->done, part);
        to += part;
        bytes -= part;
        place->done += part;
        if (place->done == place->segment->bytes) {
            place->segment++;
            place->done = 0;
        }
    }
}

/* Returns the slot with the number, marked as being written. */
static struct frame_mirror_slot *begin_slot(struct frame_mirror *mirror, uint64_t number)
{
    struct frame_mirror_slot *slot = &mirror->ring->slots[(number - 1) % mirror->slot_count];

    __atomic_store_n(&slot->number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* before its content changes */
    return slot;
}

static void end_slot(struct frame_mirror *mirror, struct frame_mirror_slot *slot, uint64_t number)
{
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
    __atomic_store_n(&mirror->ring->written, number, __ATOMIC_RELEASE);
}

void frame_mirror_write(struct frame_mirror *mirror, unsigned port,
                        enum frame_mirror_direction direction, const struct device_net_frame *frame,
                        uint64_t now)
{
    uint32_t kept = frame->bytes < mirror->bytes_limit ? frame->bytes : mirror->bytes_limit;
    struct place place = {frame->segments, 0};

    for (uint32_t done = 0; done < kept;) {
        uint64_t number = ++mirror->written;
        struct frame_mirror_slot *slot = begin_slot(mirror, number);

        slot->time = now;
        slot->frame_bytes = frame->bytes;
        slot->kept_bytes = kept;
        slot->offset = done;
        slot->bytes =
            kept - done < FRAME_MIRROR_CONTENT_BYTES ? kept - done : FRAME_MIRROR_CONTENT_BYTES;
        slot->port = port;
        slot->direction = direction;
        copy_part(slot->content, slot->bytes, &place);
        done += slot->bytes; /* the tool does not write slots */
        end_slot(mirror, slot, number);
    }
}
