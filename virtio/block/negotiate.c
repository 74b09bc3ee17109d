/* SPDX-License-Identifier: BSD-2-Clause */
/* Negotiates features (VIRTIO 1.3, 3.1.1 steps 4 to 6) and reads the configuration (5.2.4). */
#include "block_private.h"

#define FEATURES_KNOWN                                                                             \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_ACCESS_PLATFORM | \
     VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_BLK_F_SIZE_MAX |  \
     VIRTIO_BLK_F_SEG_MAX | VIRTIO_BLK_F_RO | VIRTIO_BLK_F_BLK_SIZE | VIRTIO_BLK_F_FLUSH)

#define BLOCK_BYTES_MAX 65536u

static bool read_capacity(struct virtio_block *block)
{
    struct virtio_config_field half[2] = {
        {.offset = VIRTIO_BLOCK_CONFIG_CAPACITY, .bytes = 4},
        {.offset = VIRTIO_BLOCK_CONFIG_CAPACITY + 4, .bytes = 4},
    };

    if (!virtio_transport_read_config(block->transport, half, 2)) {
        return false;
    }
    block->geometry.sectors = half[0].value | (uint64_t)half[1].value << 32;
    return true;
}

/* Reads a field that is valid with `feature`. Without, *value stays as it is. */
static bool read_limit(const struct virtio_block *block, uint64_t feature, uint16_t offset,
                       uint32_t *value)
{
    struct virtio_config_field field = {.offset = offset, .bytes = 4};

    if ((block->features & feature) == 0) {
        return true;
    }
    if (!virtio_transport_read_config(block->transport, &field, 1)) {
        return false;
    }
    *value = field.value;
    return true;
}

static const char *check_geometry(const struct virtio_block_geometry *geometry)
{
    uint32_t bytes = geometry->block_bytes;

    if (geometry->sectors > UINT64_MAX / VIRTIO_BLOCK_SECTOR_BYTES) {
        return "the device's capacity is more than 2^64 bytes";
    }
    if (bytes < VIRTIO_BLOCK_SECTOR_BYTES || bytes > BLOCK_BYTES_MAX ||
        (bytes & (bytes - 1)) != 0) {
        return "the size of the device's blocks is no power of two from 512 to 65536";
    }
    return geometry->segments_max == 0 || geometry->segment_bytes_max == 0
               ? "the device allows no data in a request"
               : NULL;
}

bool block_negotiate(struct virtio_block *block, uint64_t features_off, const char **reason)
{
    struct virtio_block_geometry *geometry = &block->geometry;

    if (!virtio_transport_negotiate(block->transport, FEATURES_KNOWN & ~features_off,
                                    &block->features, reason)) {
        return false;
    }
    *geometry = (struct virtio_block_geometry){
        .block_bytes = VIRTIO_BLOCK_SECTOR_BYTES,
        .segments_max = UINT32_MAX,
        .segment_bytes_max = UINT32_MAX,
        .is_read_only = (block->features & VIRTIO_BLK_F_RO) != 0,
        .is_write_back = (block->features & VIRTIO_BLK_F_FLUSH) != 0,
    };
    if (!read_capacity(block) ||
        !read_limit(block, VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLOCK_CONFIG_SIZE_MAX,
                    &geometry->segment_bytes_max) ||
        !read_limit(block, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLOCK_CONFIG_SEG_MAX,
                    &geometry->segments_max) ||
        !read_limit(block, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLOCK_CONFIG_BLK_SIZE,
                    &geometry->block_bytes)) {
        *reason = "the device's configuration is too short, or changes all the time";
        return false;
    }
    *reason = check_geometry(geometry);
    return *reason == NULL;
}
