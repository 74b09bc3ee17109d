/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio/bounce.h. */
#include "virtio/bounce.h"
#include <string.h>

#define CACHE_LINE_BYTES 64u

static void give(struct virtio_bounce *bounce, struct virtio_bounce_slot *slot)
{
    slot->next = bounce->free;
    bounce->free = slot;
    bounce->free_count++;
}

bool virtio_bounce_create(struct virtio_bounce *bounce, struct virtio_pool *pool, uint16_t count,
                          uint32_t bytes)
{
    virtio_address address;

    *bounce = (struct virtio_bounce){.pool = pool, .bytes = bytes, .count = count};
    bounce->slots = virtio_platform_allocate(sizeof(*bounce->slots) * count);
    bounce->memory = virtio_dma_allocate(pool, (size_t)bytes * count, CACHE_LINE_BYTES, &address);
    if (bounce->slots == NULL || bounce->memory == NULL) {
        return false;
    }
    for (unsigned i = count; i-- > 0;) {
        bounce->slots[i].memory = bounce->memory + (size_t)bytes * i;
        bounce->slots[i].address = address + (uint64_t)bytes * i;
        give(bounce, &bounce->slots[i]);
    }
    return true;
}

void virtio_bounce_destroy(struct virtio_bounce *bounce)
{
    if (bounce->memory != NULL) {
        virtio_dma_free(bounce->pool, bounce->memory, (size_t)bounce->bytes * bounce->count);
    }
    if (bounce->slots != NULL) {
        virtio_platform_free(bounce->slots, sizeof(*bounce->slots) * bounce->count);
    }
    *bounce = (struct virtio_bounce){0};
}

struct virtio_bounce_slot *virtio_bounce_take(struct virtio_bounce *bounce, unsigned count)
{
    struct virtio_bounce_slot *first = bounce->free;
    struct virtio_bounce_slot *last = first;

    if (bounce->free_count < count) {
        return NULL;
    }
    for (unsigned i = 1; i < count; i++) {
        last = last->next;
    }
    bounce->free = last->next;
    bounce->free_count = (uint16_t)(bounce->free_count - count);
    last->next = NULL;
    return first;
}

void *virtio_bounce_release(struct virtio_bounce *bounce, struct virtio_bounce_slot *chain)
{
    void *owner = chain->owner;

    while (chain != NULL) {
        struct virtio_bounce_slot *next = chain->next;

        give(bounce, chain);
        chain = next;
    }
    return owner;
}

/* Moves `place` to the next slot if it is at the end of one. Returns the bytes that follow it in
 * its slot, at most `limit`. */
static uint32_t contiguous(const struct virtio_bounce *bounce, struct virtio_bounce_place *place,
                           uint32_t limit)
{
    uint32_t bytes;

    if (place->offset == bounce->bytes) {
        *place = (struct virtio_bounce_place){.slot = place->slot->next};
    }
    bytes = bounce->bytes - place->offset;
    return bytes < limit ? bytes : limit;
}

void virtio_bounce_write(const struct virtio_bounce *bounce, struct virtio_bounce_place *place,
                         const uint8_t *from, uint32_t bytes)
{
    while (bytes != 0) {
        uint32_t piece = contiguous(bounce, place, bytes);

        memcpy(place->slot->memory + place->offset, from, piece);
        place->offset += piece;
        from += piece;
        bytes -= piece;
    }
}

void virtio_bounce_read(const struct virtio_bounce *bounce, struct virtio_bounce_place *place,
                        uint8_t *to, uint32_t bytes)
{
    while (bytes != 0) {
        uint32_t piece = contiguous(bounce, place, bytes);

        memcpy(to, place->slot->memory + place->offset, piece);
        place->offset += piece;
        to += piece;
        bytes -= piece;
    }
}
