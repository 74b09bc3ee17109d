/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio/pool.h. A driver allocates a few large pieces at its start, so the pieces are a list,
 * and the first gap that is large enough is taken. */
#include "virtio/pool.h"
#include <string.h>

#define CACHE_LINE_BYTES 64u

struct virtio_pool_piece {
    struct virtio_pool_piece *next;
    size_t offset; /* from the pool's begin */
    size_t bytes;  /* whole cache lines */
};

static size_t align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

void virtio_pool_init(struct virtio_pool *pool, void *memory, size_t bytes)
{
    *pool = (struct virtio_pool){.memory = memory, .bytes = bytes & ~(CACHE_LINE_BYTES - 1u)};
}

size_t virtio_pool_free_bytes(const struct virtio_pool *pool)
{
    size_t bytes = pool->bytes;

    for (const struct virtio_pool_piece *piece = pool->pieces; piece != NULL; piece = piece->next) {
        bytes -= piece->bytes;
    }
    return bytes;
}

/* Finds the first gap that has room, and stores its aligned begin in *offset. Returns the place in
 * the list of pieces where it lies, or NULL if there is no such gap. */
static struct virtio_pool_piece **find_gap(struct virtio_pool *pool, size_t bytes, size_t alignment,
                                           size_t *offset)
{
    struct virtio_pool_piece **link = &pool->pieces;
    size_t begin = 0;

    for (;;) {
        size_t end = *link != NULL ? (*link)->offset : pool->bytes;

        begin = align_up(begin, alignment);
        if (begin <= end && bytes <= end - begin) {
            *offset = begin;
            return link;
        }
        if (*link == NULL) {
            return NULL;
        }
        begin = (*link)->offset + (*link)->bytes;
        link = &(*link)->next;
    }
}

static void *allocate(struct virtio_pool *pool, size_t bytes, size_t alignment)
{
    struct virtio_pool_piece **link;
    struct virtio_pool_piece *piece;
    size_t offset;

    if (bytes == 0 || bytes > pool->bytes || alignment > VIRTIO_POOL_ALIGNMENT) {
        return NULL;
    }
    bytes = align_up(bytes, CACHE_LINE_BYTES);
    alignment = alignment > CACHE_LINE_BYTES ? alignment : CACHE_LINE_BYTES;
    link = find_gap(pool, bytes, alignment, &offset);
    piece = link != NULL ? virtio_platform_allocate(sizeof(*piece)) : NULL;
    if (piece == NULL) {
        return NULL;
    }
    *piece = (struct virtio_pool_piece){.next = *link, .offset = offset, .bytes = bytes};
    *link = piece;
    memset(pool->memory + offset, 0, bytes);
    return pool->memory + offset;
}

void *virtio_dma_allocate(struct virtio_pool *pool, size_t bytes, size_t alignment,
                          virtio_address *address)
{
    void *memory;

    if (pool == NULL) {
        return virtio_platform_dma_allocate(bytes, alignment, address);
    }
    memory = allocate(pool, bytes, alignment);
    if (memory != NULL) {
        *address = virtio_platform_dma_address(memory);
    }
    return memory;
}

void virtio_dma_free(struct virtio_pool *pool, void *memory, size_t bytes)
{
    struct virtio_pool_piece **link;

    if (pool == NULL) {
        virtio_platform_dma_free(memory, bytes);
        return;
    }
    for (link = &pool->pieces; *link != NULL; link = &(*link)->next) {
        struct virtio_pool_piece *piece = *link;

        if (pool->memory + piece->offset == memory) {
            *link = piece->next;
            virtio_platform_free(piece, sizeof(*piece));
            return;
        }
    }
    virtio_platform_log("pool: memory at 0x%llx is not freed: it is no piece of the pool",
                        (unsigned long long)(uintptr_t)memory);
}
