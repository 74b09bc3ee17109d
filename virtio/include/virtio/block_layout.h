/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the block device that driver and device share (VIRTIO 1.3, 5.2.4, 5.2.6). All numbers
 * of requests and of the configuration are little-endian.
 */
#ifndef VIRTIO_BLOCK_LAYOUT_H
#define VIRTIO_BLOCK_LAYOUT_H

/* Unit of all positions and lengths, whatever blk_size is (5.2.6). */
#define VIRTIO_BLOCK_SECTOR_BYTES 512u

/* Fields of the configuration: offsets. */
#define VIRTIO_BLOCK_CONFIG_CAPACITY 0u  /* 64 bits, sectors */
#define VIRTIO_BLOCK_CONFIG_SIZE_MAX 8u  /* 32 bits, bytes of a segment: SIZE_MAX */
#define VIRTIO_BLOCK_CONFIG_SEG_MAX  12u /* 32 bits, segments of a request: SEG_MAX */
#define VIRTIO_BLOCK_CONFIG_BLK_SIZE 20u /* 32 bits, bytes: BLK_SIZE */

/* The header of a request, which the device reads: type, 32 reserved bits, first sector. */
#define VIRTIO_BLOCK_HEADER_BYTES  16u
#define VIRTIO_BLOCK_HEADER_SECTOR 8u

/* Types of requests. */
#define VIRTIO_BLOCK_TYPE_IN     0u
#define VIRTIO_BLOCK_TYPE_OUT    1u
#define VIRTIO_BLOCK_TYPE_FLUSH  4u
#define VIRTIO_BLOCK_TYPE_GET_ID 8u

/* Bytes that GET_ID writes. A shorter text is followed by zeros. */
#define VIRTIO_BLOCK_ID_BYTES 20u

/* The last byte that the device writes. */
#define VIRTIO_BLOCK_STATUS_OK          0u
#define VIRTIO_BLOCK_STATUS_ERROR       1u /* VIRTIO_BLK_S_IOERR */
#define VIRTIO_BLOCK_STATUS_UNSUPPORTED 2u

#endif
