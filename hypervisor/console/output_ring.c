/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/output_ring.h"
#include <string.h>

void output_ring_add_bytes(struct output_ring *ring, const char *bytes, uint32_t count)
{
    uint32_t room = OUTPUT_RING_BYTES - output_ring_length(ring);
    uint32_t start = ring->added % OUTPUT_RING_BYTES, until_end = OUTPUT_RING_BYTES - start, first;

    count = count < room ? count : room;
    first = count < until_end ? count : until_end;
    memcpy(ring->bytes + start, bytes, first);
    memcpy(ring->bytes, bytes + first, count - first);
    ring->added += count;
}

void output_ring_clear(struct output_ring *ring)
{
    ring->removed = ring->added;
}

/* Sets the writer's count to 0 if its last byte has been removed from the ring: as many bytes as
 * the ring holds were added after it. */
static void forget_sent(struct output_ring *ring, uint32_t writer)
{
    if (ring->added - ring->last_end[writer] >= output_ring_length(ring)) {
        ring->unsent[writer] = 0;
    }
}

bool output_ring_has_room(struct output_ring *ring, uint32_t writer, uint32_t quota, uint32_t bytes)
{
    forget_sent(ring, writer);
    return ring->unsent[writer] <= quota - bytes;
}

void output_ring_charge(struct output_ring *ring, uint32_t writer, uint32_t start)
{
    forget_sent(ring, writer);
    ring->unsent[writer] += ring->added - start;
    ring->last_end[writer] = ring->added;
}
