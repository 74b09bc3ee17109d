/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of a block device (VIRTIO 1.3, 5.2.6). Where descriptors end has no meaning (2.7.4.1):
 * the header is the first 16 readable bytes, the status the last writable one.
 */
#include "virtio/device_block.h"
#include <string.h>

#define STATUS_BYTES 1u

const char *device_block_check_features(uint64_t offered, uint64_t accepted)
{
    if ((accepted & ~(offered & DEVICE_BLOCK_FEATURES)) != 0) { /* 2.2.1 */
        return "a feature that was not offered";
    }
    return (accepted & VIRTIO_F_VERSION_1) == 0 ? "a driver without VERSION_1" : NULL; /* 6.2 */
}

const char *device_block_start(struct device_block *block, const struct device_memory *memory,
                               const struct device_block_setup *setup, bool resumed)
{
    struct device_queue_setup queue = setup->queue;

    queue.features = setup->accepted;
    memset(&block->statistics, 0, sizeof(block->statistics));
    block->accepted = setup->accepted;
    block->sectors = setup->sectors;
    block->is_read_only = (setup->offered & VIRTIO_BLK_F_RO) != 0;
    memcpy(block->id, setup->id, sizeof(block->id));
    return device_queue_start(&block->queue, memory, &queue, resumed);
}

bool device_block_is_write_back(const struct device_block *block)
{
    return (block->accepted & VIRTIO_BLK_F_FLUSH) != 0;
}

/* A place in segments. */
struct place {
    const struct device_segment *segment;
    uint32_t offset;
};

/* Returns the next piece of memory, of at most `limit` bytes, and moves behind it. The segments
 * have more bytes. */
static struct device_segment next_piece(struct place *place, uint32_t limit)
{
    struct device_segment piece;

    while (place->offset >= place->segment->bytes) {
        place->offset -= place->segment->bytes;
        place->segment++;
    }
    piece.memory = place->segment->memory + place->offset;
    piece.bytes = place->segment->bytes - place->offset;
    piece.bytes = piece.bytes < limit ? piece.bytes : limit;
    place->offset += piece.bytes;
    return piece;
}

/* Copies readable bytes from byte `start` on. */
static void read_bytes(const struct device_block_request *request, uint32_t start, uint8_t *to,
                       uint32_t bytes)
{
    struct place place = {request->chain.segments, start};

    while (bytes != 0) {
        struct device_segment piece = next_piece(&place, bytes);

        memcpy(to, piece.memory, piece.bytes);
        to += piece.bytes;
        bytes -= piece.bytes;
    }
}

/* Copies to writable bytes from byte `start` on. */
static void write_bytes(const struct device_block_request *request, uint32_t start,
                        const uint8_t *from, uint32_t bytes)
{
    struct place place = {&request->chain.segments[request->chain.readable], start};

    while (bytes != 0) {
        struct device_segment piece = next_piece(&place, bytes);

        memcpy(piece.memory, from, piece.bytes);
        from += piece.bytes;
        bytes -= piece.bytes;
    }
}

void device_block_get(const struct device_block_request *request, uint32_t offset, uint8_t *to,
                      uint32_t bytes)
{
    read_bytes(request, VIRTIO_BLOCK_HEADER_BYTES + offset, to, bytes);
}

void device_block_put(const struct device_block_request *request, uint32_t offset,
                      const uint8_t *from, uint32_t bytes)
{
    write_bytes(request, offset, from, bytes);
}

static uint64_t get_little(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = bytes; i != 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

/* Lets a request be finished without more. */
static void answer(struct device_block_request *request, uint8_t status)
{
    request->kind = DEVICE_BLOCK_ANSWERED;
    request->status = status;
}

/* Checks a request that moves `bytes` of data. */
static void check_transfer(const struct device_block *block, struct device_block_request *request,
                           enum device_block_kind kind, uint32_t bytes)
{
    uint64_t count = bytes / VIRTIO_BLOCK_SECTOR_BYTES;

    /* 5.2.6.1: whole sectors inside of the capacity; 5.2.6.2: no write to a device with RO. */
    if (bytes % VIRTIO_BLOCK_SECTOR_BYTES != 0 || request->sector > block->sectors ||
        count > block->sectors - request->sector ||
        (kind == DEVICE_BLOCK_WRITE && block->is_read_only)) {
        answer(request, VIRTIO_BLOCK_STATUS_ERROR);
        return;
    }
    request->kind = kind;
    request->bytes = bytes;
}

static void answer_id(const struct device_block *block, struct device_block_request *request,
                      uint32_t bytes)
{
    if (bytes < VIRTIO_BLOCK_ID_BYTES) { /* 5.2.6.1: room for 20 bytes */
        answer(request, VIRTIO_BLOCK_STATUS_ERROR);
        return;
    }
    device_block_put(request, 0, (const uint8_t *)block->id, VIRTIO_BLOCK_ID_BYTES);
    request->bytes = VIRTIO_BLOCK_ID_BYTES;
    answer(request, VIRTIO_BLOCK_STATUS_OK);
}

/* Reads the header once, and checks the request. It has a place for the status. */
static void read_request(const struct device_block *block, struct device_block_request *request)
{
    const struct device_chain *chain = &request->chain;
    uint32_t writable_bytes = chain->writable_bytes - STATUS_BYTES;
    uint8_t header[VIRTIO_BLOCK_HEADER_BYTES];

    if (chain->readable_bytes < sizeof(header)) {
        answer(request, VIRTIO_BLOCK_STATUS_ERROR);
        return;
    }
    read_bytes(request, 0, header, sizeof(header));
    request->sector = get_little(&header[VIRTIO_BLOCK_HEADER_SECTOR], sizeof(uint64_t));
    switch (get_little(header, sizeof(uint32_t))) {
    case VIRTIO_BLOCK_TYPE_IN:
        check_transfer(block, request, DEVICE_BLOCK_READ, writable_bytes);
        break;
    case VIRTIO_BLOCK_TYPE_OUT:
        check_transfer(block, request, DEVICE_BLOCK_WRITE,
                       chain->readable_bytes - VIRTIO_BLOCK_HEADER_BYTES);
        break;
    case VIRTIO_BLOCK_TYPE_FLUSH: /* also without FLUSH: it does no harm */
        request->kind = DEVICE_BLOCK_FLUSH;
        break;
    case VIRTIO_BLOCK_TYPE_GET_ID:
        answer_id(block, request, writable_bytes);
        break;
    default:
        answer(request, VIRTIO_BLOCK_STATUS_UNSUPPORTED);
        break;
    }
}

static void count(struct device_block_statistics *statistics,
                  const struct device_block_request *request)
{
    statistics->reads += request->kind == DEVICE_BLOCK_READ;
    statistics->writes += request->kind == DEVICE_BLOCK_WRITE;
    statistics->flushes += request->kind == DEVICE_BLOCK_FLUSH;
    statistics->refused += request->status != VIRTIO_BLOCK_STATUS_OK;
}

bool device_block_take(struct device_block *block, struct device_block_request *request)
{
    if (!device_queue_take(&block->queue, &request->chain)) {
        return false;
    }
    request->status = VIRTIO_BLOCK_STATUS_OK;
    request->bytes = 0;
    request->sector = 0;
    if (request->chain.writable_bytes < STATUS_BYTES) {
        answer(request, VIRTIO_BLOCK_STATUS_ERROR);
        block->statistics.dropped++;
        return true;
    }
    read_request(block, request);
    count(&block->statistics, request);
    return true;
}

void device_block_finish(struct device_block *block, const struct device_block_request *request)
{
    uint32_t bytes = request->chain.writable_bytes;
    uint32_t place = bytes - STATUS_BYTES;

    if (bytes == 0) {
        device_queue_finish(&block->queue, 0);
        return;
    }
    write_bytes(request, place, &request->status, STATUS_BYTES);
    /* 2.7.8.2: all bytes up to this number were written. The status is behind the data, of which a
     * request that failed may have left out some. */
    if (place != 0 && (request->status != VIRTIO_BLOCK_STATUS_OK ||
                       request->kind == DEVICE_BLOCK_WRITE || place != request->bytes)) {
        bytes = 0;
    }
    device_queue_finish(&block->queue, bytes);
}
