/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests on their way to the device and back (VIRTIO 1.3, 5.2.6). */
#include "block_private.h"
#include "virtio/barrier.h"
#include <stddef.h>
#include <string.h>

/* No status of the standard: the device has not written it. */
#define STATUS_NONE 0xffu

static const uint8_t types[] = {
    [VIRTIO_BLOCK_READ] = VIRTIO_BLOCK_TYPE_IN,
    [VIRTIO_BLOCK_WRITE] = VIRTIO_BLOCK_TYPE_OUT,
    [VIRTIO_BLOCK_FLUSH] = VIRTIO_BLOCK_TYPE_FLUSH,
};

/* Adds a segment in pieces that the device takes. Returns the number of pieces, 0 if there are too
 * many. */
static unsigned add_pieces(struct virtio_block *block, unsigned count,
                           const struct virtio_block_segment *segment)
{
    /* With a pool the data will be in slots, and the number of pieces does not depend on them. */
    virtio_address address = block->pool != NULL ? 0 : virtio_platform_dma_address(segment->memory);
    uint32_t rest = segment->bytes;

    while (rest != 0) {
        uint32_t bytes =
            rest < block->geometry.segment_bytes_max ? rest : block->geometry.segment_bytes_max;

        if (count > block->geometry.segments_max) { /* the header is one of them */
            return 0;
        }
        block->pieces[count++] = (struct virtqueue_segment){address, bytes};
        address += bytes;
        rest -= bytes;
    }
    return count;
}

/* Describes a request's data in block->pieces, behind the header. Returns the number of pieces with
 * the header, 0 if the request is not valid. */
static unsigned describe(struct virtio_block *block, const struct virtio_block_request *request)
{
    const struct virtio_block_geometry *geometry = &block->geometry;
    unsigned count = 1;
    uint64_t bytes = 0;

    if (request->kind == VIRTIO_BLOCK_FLUSH) {
        return geometry->is_write_back && request->segment_count == 0 ? count : 0;
    }
    if (request->segment_count == 0 || request->segment_count > VIRTIO_BLOCK_SEGMENTS_MAX ||
        (request->kind == VIRTIO_BLOCK_WRITE && geometry->is_read_only)) {
        return 0;
    }
    for (unsigned i = 0; i < request->segment_count; i++) {
        bytes += request->segment[i].bytes;
        count = request->segment[i].bytes == 0 ? 0 : add_pieces(block, count, &request->segment[i]);
        if (count == 0) {
            return 0;
        }
    }
    return bytes % VIRTIO_BLOCK_SECTOR_BYTES == 0 && request->sector <= geometry->sectors &&
                   bytes / VIRTIO_BLOCK_SECTOR_BYTES <= geometry->sectors - request->sector
               ? count
               : 0;
}

static void write_header(uint8_t *header, uint8_t type, uint64_t sector)
{
    memset(header, 0, VIRTIO_BLOCK_HEADER_BYTES);
    header[0] = type;
    for (unsigned i = 0; i < sizeof(sector); i++) {
        header[VIRTIO_BLOCK_HEADER_SECTOR + i] = (uint8_t)(sector >> 8 * i);
    }
}

/* Puts a request into the ring, whose data are the pieces 1 to count - 1. */
static enum virtio_block_answer put_into_ring(struct virtio_block *block,
                                              struct virtio_block_request *request, unsigned count)
{
    uint16_t slot;
    bool is_read = request->kind == VIRTIO_BLOCK_READ;
    virtio_address address;

    if (block->free_count == 0) {
        return VIRTIO_BLOCK_FULL;
    }
    slot = block->free_slots[block->free_count - 1];
    address = block->slots_address + slot * sizeof(struct block_slot);
    write_header(block->slots[slot].header, types[request->kind],
                 request->kind == VIRTIO_BLOCK_FLUSH ? 0 : request->sector);
    block->slots[slot].status = STATUS_NONE;
    block->pieces[0] = (struct virtqueue_segment){address, VIRTIO_BLOCK_HEADER_BYTES};
    block->pieces[count] =
        (struct virtqueue_segment){address + offsetof(struct block_slot, status), 1};
    if (!virtqueue_add(&block->queue, block->pieces, is_read ? 1 : count, is_read ? count : 1,
                       request)) {
        return VIRTIO_BLOCK_FULL;
    }
    block->free_count--;
    request->slot = slot;
    block->statistics.submitted++;
    return VIRTIO_BLOCK_ACCEPTED;
}

/* Submits a request whose data is copied to or from a pool. Only the thread uses the slots, so the
 * lock is not held while data is copied. */
static enum virtio_block_answer submit_copy(struct virtio_block *block,
                                            struct virtio_block_request *request)
{
    enum virtio_block_answer answer = VIRTIO_BLOCK_STOPPED;
    struct virtio_bounce_slot *chain;
    virtio_lock_state state;
    unsigned count;

    if (block->state != BLOCK_RUNNING) {
        return VIRTIO_BLOCK_STOPPED;
    }
    if (describe(block, request) == 0) {
        return VIRTIO_BLOCK_INVALID;
    }
    count = block->free_count != 0 ? block_bounce_take(block, request, &chain) : 0;
    if (count == 0) {
        return VIRTIO_BLOCK_FULL;
    }
    state = virtio_platform_lock();
    if (block->state == BLOCK_RUNNING) {
        answer = put_into_ring(block, request, count);
    }
    virtio_platform_unlock(state);
    if (answer == VIRTIO_BLOCK_ACCEPTED) {
        block->chains[request->slot].first = chain;
    } else if (chain != NULL) {
        (void)virtio_bounce_release(&block->data, chain);
    }
    return answer;
}

enum virtio_block_answer virtio_block_submit(struct virtio_block *block,
                                             struct virtio_block_request *request)
{
    enum virtio_block_answer answer = VIRTIO_BLOCK_STOPPED;
    virtio_lock_state state;

    if (block->pool != NULL) {
        return submit_copy(block, request);
    }
    state = virtio_platform_lock();
    if (block->state == BLOCK_RUNNING) {
        unsigned count = describe(block, request);

        answer = count == 0 ? VIRTIO_BLOCK_INVALID : put_into_ring(block, request, count);
    }
    virtio_platform_unlock(state);
    return answer;
}

void virtio_block_kick(struct virtio_block *block)
{
    virtio_lock_state state = virtio_platform_lock();

    if (block->state == BLOCK_RUNNING && virtqueue_publish(&block->queue)) {
        block->statistics.notifications++;
        block->transport->operations->notify(block->transport, &block->notification);
    }
    virtio_platform_unlock(state);
}

/* Takes a request that the device has finished. */
static struct virtio_block_request *take(struct virtio_block *block)
{
    uint32_t bytes; /* of no use: the status says whether the data was moved */
    struct virtio_block_request *request = virtqueue_take(&block->queue, &bytes);
    uint8_t status;

    if (block->queue.broken != NULL) {
        block_stop_broken(block, block->queue.broken);
    }
    if (request != NULL) {
        status = __atomic_load_n(&block->slots[request->slot].status, __ATOMIC_RELAXED);
        request->result =
            status == VIRTIO_BLOCK_STATUS_OK ? VIRTIO_BLOCK_DONE : VIRTIO_BLOCK_FAILED;
        block->statistics.failed += status != VIRTIO_BLOCK_STATUS_OK;
        block->free_slots[block->free_count++] = request->slot;
    }
    return request;
}

struct virtio_block_request *virtio_block_finished(struct virtio_block *block)
{
    virtio_lock_state state = virtio_platform_lock();
    struct virtio_block_request *request = block->returned;

    if (request != NULL) {
        block->returned = request->next;
    } else if (block->state == BLOCK_RUNNING) {
        request = take(block);
    }
    if (request != NULL) {
        request->next = NULL;
        block->statistics.finished++;
    }
    virtio_platform_unlock(state);
    if (request != NULL && block->pool != NULL) {
        block_bounce_finish(block, request);
    }
    return request;
}

unsigned virtio_block_in_flight(const struct virtio_block *block)
{
    return (unsigned)(block->statistics.submitted - block->statistics.finished);
}
