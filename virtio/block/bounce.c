/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of requests to a device that can access only a pool (virtio/pool.h): it is copied
 * between slots in the pool and the memory of the owner. */
#include "block_private.h"

#define SLOT_BYTES_MAX        4096u
#define POOL_BYTES_OF_REQUEST 0x8000u

bool block_bounce_plan(struct virtio_block *block, const char **reason)
{
    size_t fit = virtio_pool_free_bytes(block->pool) / POOL_BYTES_OF_REQUEST;

    if (fit < VIRTIO_POOL_BYTES_MIN / POOL_BYTES_OF_REQUEST) {
        *reason = "its pool has too little free memory";
        return false;
    }
    block->requests_max = fit < block->requests_max ? (uint16_t)fit : block->requests_max;
    return true;
}

bool block_bounce_create(struct virtio_block *block, const char **reason)
{
    struct virtio_block_geometry *geometry = &block->geometry;
    size_t wanted = (size_t)geometry->segments_max * block->requests_max;
    size_t fit;

    /* A slot is a segment that the device takes. */
    if (geometry->segment_bytes_max > SLOT_BYTES_MAX) {
        geometry->segment_bytes_max = SLOT_BYTES_MAX;
    }
    fit = virtio_pool_free_bytes(block->pool) / geometry->segment_bytes_max;
    if (geometry->segments_max > fit) {
        geometry->segments_max = (uint32_t)fit;
    }
    *reason = "no memory for data in its pool";
    block->chains = virtio_platform_allocate(sizeof(*block->chains) * block->requests_max);
    return block->chains != NULL && fit != 0 &&
           virtio_bounce_create(&block->data, block->pool, (uint16_t)(fit < wanted ? fit : wanted),
                                geometry->segment_bytes_max);
}

void block_bounce_free(struct virtio_block *block)
{
    virtio_bounce_destroy(&block->data);
    if (block->chains != NULL) {
        virtio_platform_free(block->chains, sizeof(*block->chains) * block->requests_max);
    }
}

static uint64_t bytes_of(const struct virtio_block_request *request)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < request->segment_count; i++) {
        bytes += request->segment[i].bytes;
    }
    return bytes;
}

/* Describes the slots of `bytes` bytes in block->pieces, behind the header. Returns the number of
 * pieces with the header. */
static unsigned describe_slots(struct virtio_block *block, const struct virtio_bounce_slot *slot,
                               uint64_t bytes)
{
    unsigned count = 1;

    for (; slot != NULL; slot = slot->next) {
        uint32_t piece = bytes < block->data.bytes ? (uint32_t)bytes : block->data.bytes;

        block->pieces[count++] = (struct virtqueue_segment){slot->address, piece};
        bytes -= piece;
    }
    return count;
}

unsigned block_bounce_take(struct virtio_block *block, const struct virtio_block_request *request,
                           struct virtio_bounce_slot **chain)
{
    uint64_t bytes = bytes_of(request);
    struct virtio_bounce_place place = {0};

    *chain = NULL;
    if (bytes == 0) { /* a flush */
        return 1;
    }
    *chain = virtio_bounce_take(&block->data,
                                (unsigned)((bytes + block->data.bytes - 1) / block->data.bytes));
    if (*chain == NULL) {
        return 0;
    }
    place.slot = *chain;
    if (request->kind == VIRTIO_BLOCK_WRITE) {
        for (unsigned i = 0; i < request->segment_count; i++) {
            virtio_bounce_write(&block->data, &place, request->segment[i].memory,
                                request->segment[i].bytes);
        }
    }
    return describe_slots(block, *chain, bytes);
}

void block_bounce_finish(struct virtio_block *block, const struct virtio_block_request *request)
{
    struct virtio_bounce_slot *chain = block->chains[request->slot].first;
    struct virtio_bounce_place place = {.slot = chain};

    if (chain == NULL) {
        return;
    }
    if (request->kind == VIRTIO_BLOCK_READ && request->result == VIRTIO_BLOCK_DONE) {
        for (unsigned i = 0; i < request->segment_count; i++) {
            virtio_bounce_read(&block->data, &place, request->segment[i].memory,
                               request->segment[i].bytes);
        }
    }
    (void)virtio_bounce_release(&block->data, chain);
    block->chains[request->slot].first = NULL;
}
